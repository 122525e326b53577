# Completion of octet for fish: octet completion fish | source
# octet itself says what can stand at the cursor.
function __octet_candidates
    set -l word (commandline -ct)
    set -l before (string match -r -- '^--[^=]*=' $word)
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    for candidate in ($program completion words -- $words $word 2> /dev/null)
        if test $candidate = :files
            string replace -r -- '^' "$before" (__fish_complete_path (string replace -- "$before" '' $word))
        else
            echo $candidate
        end
    end
end
complete -c octet -f -a '(__octet_candidates)'
