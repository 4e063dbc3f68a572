# Completion of jostle for bash. What may follow comes from the program: jostle complete.

_jostle() {
    # Whole words: bash splits them at : and = too, and replaces only what follows the last of these.
    local line=${COMP_LINE:0:COMP_POINT} part=${COMP_WORDS[COMP_CWORD]} whole word
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    whole=${words[-1]}
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
    done < <("${COMP_WORDS[0]}" complete -- "${words[@]:1}" 2>/dev/null)
} 2>/dev/null

complete -F _jostle jostle
