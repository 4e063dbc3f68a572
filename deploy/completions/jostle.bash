# Completion of jostle and its other programs for bash. What may follow comes from the program: jostle complete.

_jostle() {
    # Whole words: bash splits them at : and = too, and replaces only what follows the last of these.
    local program=${COMP_WORDS[0]} line=${COMP_LINE:0:COMP_POINT} part=${COMP_WORDS[COMP_CWORD]} whole word
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    whole=${words[-1]}
    # The words of a program such as jostle-swarm are those of a command.
    words=("${words[@]:1}")
    [[ ${program##*/} != jostle-* ]] || { words=("${program##*-}" "${words[@]}") program=${program%-*}; }
    [[ $part == [:=] ]] && part=
    local start=${whole%"$part"}

    COMPREPLY=()
    while read -r word _; do
        case $word in
            :files) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$part") ;;
            :directories) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$part") ;;
            :nospace) compopt -o nospace ;;
            *) COMPREPLY+=("${word#"$start"}") ;;
        esac
    done < <("$program" complete -- "${words[@]}" 2>/dev/null)
} 2>/dev/null

complete -F _jostle jostle jostle-page jostle-swarm
