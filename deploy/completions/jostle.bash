# Completion of jostle for bash. Commands and options are read from the program's help; the ids and groups of a fleet are
# those that the last jostle fleet command saw.

_jostle_words() {
    # The first column of the help's tables: commands, or options without their values.
    "$1" "${@:3}" --help 2>/dev/null | sed -n "s/^  \($2\) .*/\1/p"
}

_jostle_names() {
    # Names of a kind. bash splits words at : and =, so a name is completed from the last space on.
    local whole=${COMP_LINE:0:COMP_POINT}
    whole=${whole##*[[:space:]]}
    [[ $whole == *"$3" ]] || whole=$3
    local start=${whole%"$3"}
    "$1" fleet complete "$2" "$whole" 2>/dev/null | while read -r word; do printf '%s\n' "${word#"$start"}"; done
}

_jostle() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
    local -a path=()
    local index word
    COMPREPLY=()

    # The command: one word, or two and three in the groups.
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        [[ $word == -* ]] && break
        path+=("$word")
        case ${path[*]} in
            config | fleet | 'fleet group') ;;
            *) break ;;
        esac
    done

    # A name with : or = is three words here.
    [[ $previous == [:=] ]] && ((COMP_CWORD >= 3)) && previous=${COMP_WORDS[COMP_CWORD - 3]}
    case $previous in
        --device | --on)
            mapfile -t COMPREPLY < <("$program" fleet complete ids "$current" 2>/dev/null)
            return ;;
        --group)
            mapfile -t COMPREPLY < <("$program" fleet complete groups "$current" 2>/dev/null)
            return ;;
        --config)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return ;;
        --status)
            mapfile -t COMPREPLY < <(_jostle_names "$program" statuses "$current")
            return ;;
        --document)
            mapfile -t COMPREPLY < <(_jostle_names "$program" documents "$current")
            return ;;
        --unknown)
            mapfile -t COMPREPLY < <(compgen -W "reject ignore" -- "$current")
            return ;;
    esac

    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_jostle_words "$program" '--[a-z-]*' "${path[@]}")" -- "$current")
        return
    fi
    case ${path[*]} in
        '' | config | fleet | 'fleet group')
            mapfile -t COMPREPLY < <(compgen -W "$(_jostle_words "$program" '[a-z][a-z-]* ' "${path[@]}")" -- "$current")
            ;;
        'fleet show' | 'fleet forget')
            mapfile -t COMPREPLY < <("$program" fleet complete ids "$current" 2>/dev/null)
            ;;
        'fleet rollback')
            mapfile -t COMPREPLY < <(_jostle_names "$program" documents "$current")
            ;;
        'fleet set' | 'fleet unset' | 'fleet get')
            mapfile -t COMPREPLY < <(_jostle_names "$program" keys "$current")
            [[ ${path[1]} != set ]] || compopt -o nospace 2>/dev/null
            ;;
        'fleet group add' | 'fleet group remove')
            # The group, then devices.
            if ((COMP_CWORD == 4)); then word=groups; else word=ids; fi
            mapfile -t COMPREPLY < <("$program" fleet complete "$word" "$current" 2>/dev/null)
            ;;
        *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}

complete -o filenames -F _jostle jostle
