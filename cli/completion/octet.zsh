#compdef octet
# Completion of octet for zsh: . <(octet completion zsh)
# octet itself says what can stand at the cursor.
_octet() {
    local -a found
    found=(${(f)"$($words[1] completion words -- "${(@)words[2,CURRENT-1]}" "$PREFIX" 2> /dev/null)"})
    compadd -S '' -- ${(M)found:#*=}
    compadd -- ${${found:#*=}:#:files}
    if (( ${found[(Ie):files]} )); then
        compset -P '--*='
        _files
    fi
}
if [[ $funcstack[1] = _octet ]]; then
    _octet "$@"
else
    compdef _octet octet
fi
