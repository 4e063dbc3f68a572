# Completion of jostle and its other programs for fish. What may follow comes from the program: jostle complete.

function __jostle_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # The words of a program such as jostle-swarm are those of a command.
    if string match -qr '(^|/)jostle-[a-z]+$' -- $words[1]
        set words (string replace -r -- '-[a-z]+$' '' $words[1]) (string replace -r -- '.*-' '' $words[1]) $words[2..-1]
    end
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

for program in jostle jostle-page jostle-swarm
    complete -c $program -f -a '(__jostle_complete)'
end
