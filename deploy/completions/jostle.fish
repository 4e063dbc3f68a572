# Completion of jostle for fish. What may follow comes from the program: jostle complete.

function __jostle_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] $current 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $current
            case :directories
                __fish_complete_directories $current
            case :nospace
                # fish adds no space after =.
            case '*'
                string replace ' ' \t -- $line
        end
    end
end

complete -c jostle -f -a '(__jostle_complete)'
