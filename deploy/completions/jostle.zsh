#compdef jostle jostle-page jostle-swarm
# Completion of jostle and its other programs for zsh, as the file _jostle in a directory of $fpath. What may follow comes
# from the program: jostle complete.

_jostle() {
    local program=${words[1]} word summary files directories
    local -a plain spaces line=("${(@)words[2,CURRENT]}")
    # The words of a program such as jostle-swarm are those of a command.
    [[ ${program:t} != jostle-* ]] || { line=("${program##*-}" "${(@)line}"); program=${program%-*}; }
    while read -r word summary; do
        case $word in
            :files) files=yes ;;
            :directories) directories=yes ;;
            :nospace) spaces=(-S '') ;;
            *) plain+=("${word//:/\\:}${summary:+:$summary}") ;;
        esac
    done < <("$program" complete -- "${(@)line}" 2>/dev/null)
    (( ${#plain} )) && _describe -V jostle plain $spaces
    [[ -n $files ]] && _files
    [[ -n $directories ]] && _files -/
}

_jostle "$@"
