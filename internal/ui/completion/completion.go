// Package completion generates shell completion scripts and installs them in the start files of
// shells.
//
// It doesn't know what can be completed. The scripts ask the program.
package completion

import (
	"fmt"
	"slices"
	"strings"
)

// Ask is the command by which scripts ask for what may come next: it is given the words
// of the command line after the program, the last one as far as it was typed, and prints
// a line for each that may stand there, with what it is about after a tab.
const Ask = "__complete"

// Shells are those that there are scripts for.
var Shells = []string{"bash", "zsh", "fish", "powershell"}

// Script is what a shell has to read to complete the command lines of a program.
func Script(shell, program string) (string, error) {
	text, known := map[string]string{"bash": bash, "zsh": zsh, "fish": fish, "powershell": powershell}[shell]
	if !known {
		return "", fmt.Errorf("there is no completion for %q; there is for %s", shell, strings.Join(Shells, ", "))
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, program)
	return strings.NewReplacer("PROGRAM", program, "NAME", name, "ASK", Ask).Replace(text), nil
}

// Where nothing is offered the shells complete names of files.
const (
	bash = `# Completion of PROGRAM for bash.
_NAME_complete() {
  local word line="${COMP_LINE:0:COMP_POINT}"
  local current="${line##*[[:space:]]}"
  local value="${current##*=}" before=
  # Bash looks at what stands after the last = as a word of its own.
  [[ "$COMP_WORDBREAKS" == *=* ]] && before="${current%"$value"}"
  COMPREPLY=()
  while IFS= read -r word; do
    [[ "$word" == *= ]] && compopt -o nospace
    word="${word#"$before"}"
    # Brackets and quotes of addresses mean something to shells, but within quotes.
    case "$value" in
    \'*) ;;
    \"*) word="${word//\"/\\\"}" ;;
    *) printf -v word %q "$word" ;;
    esac
    COMPREPLY+=("$word")
  done < <(COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" PROGRAM 2>/dev/null)
}
complete -o default -F _NAME_complete PROGRAM
`
	zsh = `#compdef PROGRAM
# Completion of PROGRAM for zsh.
_NAME() {
  local -a plain open
  local line word about
  for line in "${(@f)$(PROGRAM ASK "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    word="${line%%$'\t'*}" about="${line#*$'\t'}"
    [[ -z "$word" ]] && continue
    if [[ "$word" == *= ]]; then
      open+=("${word//:/\\:}:$about")
    else
      plain+=("${word//:/\\:}:$about")
    fi
  done
  if (( ${#plain} + ${#open} == 0 )); then
    _files
    return
  fi
  (( ${#plain} )) && _describe 'PROGRAM' plain
  (( ${#open} )) && _describe 'PROGRAM' open -S ''
}
if [[ "${funcstack[1]}" == _NAME ]]; then
  _NAME "$@"
else
  compdef _NAME PROGRAM
fi
`
	fish = `# Completion of PROGRAM for fish.
function __NAME_complete
  set -l words (commandline -opc) (commandline -ct)
  PROGRAM ASK $words[2..-1] 2>/dev/null
end
complete -c PROGRAM -a '(__NAME_complete)'
`
	powershell = `# Completion of PROGRAM for PowerShell.
Register-ArgumentCompleter -Native -CommandName 'PROGRAM' -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += '' }
  & 'PROGRAM' ASK @words 2>$null | ForEach-Object {
    $word, $about = $_ -split "` + "`" + `t", 2
    if (-not $about) { $about = $word }
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $about)
  }
}
`
)

// An installed script stands between these lines, by which it is found again.
const begins, ends = "# PROGRAM: completion begins", "# PROGRAM: completion ends"

// Installed is what a shell reads at its start with the script in it, which takes the place
// of an earlier one.
func Installed(shell, program, text string) string {
	script, err := Script(shell, program)
	if err != nil {
		return text
	}
	if shell == "zsh" {
		script = "autoload -Uz compinit && compinit\n" + script
	}
	return replaced(text, program, script)
}

// Uninstalled takes back what Installed did.
func Uninstalled(_, program, text string) string { return replaced(text, program, "") }

// replaced is the text of a file with another script in it; none takes it out.
func replaced(text, program, script string) string {
	first, last := strings.Replace(begins, "PROGRAM", program, 1), strings.Replace(ends, "PROGRAM", program, 1)
	lines := strings.Split(text, "\n")
	if from, to := slices.Index(lines, first), slices.Index(lines, last); from >= 0 && to > from {
		text = strings.Join(slices.Delete(lines, from, to+1), "\n")
	}
	if script == "" {
		return text
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + first + "\n" + script + last + "\n"
}
