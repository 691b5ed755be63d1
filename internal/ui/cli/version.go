package cli

import (
	"context"
	"flag"
	"runtime"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/sys/buildinfo"
)

var versionCommand = &command{
	Name:     "version",
	Synopsis: "Show the current version",
	Max:      -1, // OpenTofu and Terraform ignore arguments, too
	Long:     "Prints the compatible version of OpenTofu or Terraform in the form that programs read. Then it prints the providers in the dependency lock file, and the version of weir.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		fs.Bool("v", false, "")
		fs.Bool("version", false, "")
		return func(context.Context, []string) int { return e.version(*asJSON) }
	},
}

func (e *env) version(asJSON bool) int {
	platform := runtime.GOOS + "_" + runtime.GOARCH
	selections := e.lockedVersions()
	build := buildinfo.Current()
	if asJSON {
		format := ""
		if e.Dialect == dialect.Terraform {
			format = "1.0"
		}
		// Wrappers compare terraform_version with the versions of the other program that they
		// support.
		return e.PrintJSON(struct {
			FormatVersion      string            `json:"format_version,omitempty"`
			TerraformVersion   string            `json:"terraform_version"`
			Platform           string            `json:"platform"`
			ProviderSelections map[string]string `json:"provider_selections"`
			Outdated           bool              `json:"terraform_outdated"`
			WeirVersion        string            `json:"weir_version"`
			WeirCommit         string            `json:"weir_commit,omitempty"`
			WeirDate           string            `json:"weir_date,omitempty"`
		}{format, e.Dialect.Version(), platform, selections, false, build.Version, build.Commit, build.Date})
	}
	// Wrappers read the engine and its version off the first line.
	e.Say("%s v%s\non %s\n", e.Dialect.Product(), e.Dialect.Version(), platform)
	for _, name := range sortedKeys(selections) {
		e.Say("+ provider %s v%s\n", name, selections[name])
	}
	e.Say("\nThis is weir v%s, which takes the place of that engine.\n", build)
	return 0
}
