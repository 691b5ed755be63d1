package cli

import (
	"context"
	"flag"
	"runtime"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/net/httpcall"
	"weir.dev/weir/internal/net/releases"
	"weir.dev/weir/internal/net/retry"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/sys/buildinfo"
)

var versionCommand = &command{
	Name:     "version",
	Synopsis: "Show the current version",
	Max:      -1, // OpenTofu and Terraform ignore arguments, too
	Long:     "Prints the compatible version of OpenTofu or Terraform in the form that programs read. Then it prints the providers in the dependency lock file, and the version of weir. With -check it also prints the latest version that a release server lists. weir never looks for new versions otherwise.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		check := fs.Bool("check", false, "Print the latest version that the server in WEIR_RELEASES lists.")
		fs.Bool("v", false, "")
		fs.Bool("version", false, "")
		return func(ctx context.Context, _ []string) int { return e.version(ctx, *asJSON, *check) }
	},
}

var releaseCheckFailed = diag.Code{Name: "release-check-failed", Summary: "Failed to check for a new version"}

func (e *env) version(ctx context.Context, asJSON, check bool) int {
	latest := ""
	if check {
		server := e.vars[releases.Variable]
		if server == "" {
			return e.Fail(releaseCheckFailed.As("No release server"), "weir knows no release server of its own. Set %s to the address of one.", releases.Variable)
		}
		var err error
		client := httpcall.Client{HTTP: useragent.Default(func(name string) string { return e.vars[name] }), Stall: 10 * time.Second, Limit: 16 << 20, Retry: retry.Policy{Attempts: 2}}
		if latest, err = releases.Latest(ctx, client, server, buildinfo.Current().Version); err != nil {
			return e.Fail(releaseCheckFailed, "%s.", err)
		}
	}
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
			WeirLatest         string            `json:"weir_latest,omitempty"`
		}{format, e.Dialect.Version(), platform, selections, false, build.Version, build.Commit, build.Date, latest})
	}
	// Wrappers read the engine and its version off the first line.
	e.Say("%s v%s\non %s\n", e.Dialect.Product(), e.Dialect.Version(), platform)
	for _, name := range sortedKeys(selections) {
		e.Say("+ provider %s v%s\n", name, selections[name])
	}
	e.Say("\nThis is weir v%s, which takes the place of that engine.\n", build)
	switch {
	case latest == "":
	case releases.Newer(latest, build.Version):
		e.Say("Version %s of weir is available.\n", latest)
	default:
		e.Say("No newer version of weir is available.\n")
	}
	return 0
}
