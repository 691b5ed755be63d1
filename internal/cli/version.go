package cli

import (
	"context"
	"encoding/json"
	"flag"
	"runtime"

	"weir.dev/weir/internal/release"
)

var versionCommand = &command{
	name:     "version",
	synopsis: "Show the current version",
	long:     "Shows the engine that weir takes the place of and its version, in the form that programs read, the providers that the dependency lock file selects, and the version of weir itself.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		return func(context.Context, []string) int { return e.version(*asJSON) }
	},
}

func (e *env) version(asJSON bool) int {
	platform := runtime.GOOS + "_" + runtime.GOARCH
	selections := e.lockedVersions()
	build := release.Current()
	if asJSON {
		// Wrappers compare terraform_version with the versions of the other
		// engine that they support.
		return e.printJSON(struct {
			TerraformVersion   string            `json:"terraform_version"`
			Platform           string            `json:"platform"`
			ProviderSelections map[string]string `json:"provider_selections"`
			Outdated           bool              `json:"terraform_outdated"`
			WeirVersion        string            `json:"weir_version"`
			WeirCommit         string            `json:"weir_commit,omitempty"`
			WeirDate           string            `json:"weir_date,omitempty"`
		}{e.dialect.Version(), platform, selections, false, build.Version, build.Commit, build.Date})
	}
	// Wrappers read the engine and its version off the first line.
	e.say("%s v%s\non %s\n", e.dialect.Product(), e.dialect.Version(), platform)
	for _, name := range sortedKeys(selections) {
		e.say("+ provider %s v%s\n", name, selections[name])
	}
	e.say("\nThis is weir v%s, which takes the place of that engine.\n", build)
	return 0
}

// printJSON prints a value as an indented JSON document.
func (e *env) printJSON(v any) int {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return e.fail("Failed to write JSON", "%s.", err)
	}
	e.say("%s\n", text)
	return 0
}
