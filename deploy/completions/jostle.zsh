#compdef jostle
# Completion of jostle for zsh, as the file _jostle in a directory of $fpath. What may follow comes from the program:
# jostle complete.

_jostle() {
    local word summary files directories
    local -a plain spaces
    while read -r word summary; do
        case $word in
            :files) files=yes ;;
            :directories) directories=yes ;;
            :nospace) spaces=(-S '') ;;
            *) plain+=("${word//:/\\:}${summary:+:$summary}") ;;
        esac
    done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( ${#plain} )) && _describe -V jostle plain $spaces
    [[ -n $files ]] && _files
    [[ -n $directories ]] && _files -/
}

_jostle "$@"
