# Completion of octet for bash: . <(octet completion bash)
# octet itself says what can stand at the cursor. $2: what bash completes, the word or what is behind its last = or :.
_octet() {
    local line=${COMP_LINE:0:COMP_POINT} candidate
    local -a words files
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local word=${words[${#words[@]}-1]}
    local before=${word%"$2"}
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
        :files)
            mapfile -t files < <(compgen -f -- "$2")
            COMPREPLY+=(${files[@]+"${files[@]}"})
            compopt -o filenames ;;
        *=)
            COMPREPLY+=("${candidate#"$before"}")
            compopt -o nospace ;;
        *)
            COMPREPLY+=("${candidate#"$before"}") ;;
        esac
    done < <("$1" completion words -- "${words[@]:1}" 2> /dev/null)
}
complete -F _octet octet
