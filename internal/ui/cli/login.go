package cli

import (
	"context"
	"errors"
	"flag"
	"strings"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/login"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/ui/view/ansi"
)

var loginCommand = &command{
	Name:     "login",
	Args:     "[HOST]",
	Synopsis: "Obtain and save credentials for a remote host",
	Long:     "Logs in with a browser. It stores the token with the credentials helper if one is configured, else in credentials.tfrc.json in the directory of user settings.",
	Max:      1,
	JSON:     output.Messages,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		flags.Input(fs, &e.input)
		return func(ctx context.Context, args []string) int { return e.login(ctx, args) }
	},
}

var logoutCommand = &command{
	Name:     "logout",
	Args:     "[HOST]",
	Synopsis: "Remove locally-stored credentials for a remote host",
	Long:     "Removes a token that login stored. The token stays valid until you revoke it at the host.",
	Max:      1,
	JSON:     output.Messages,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		return func(ctx context.Context, args []string) int { return e.logout(ctx, args) }
	},
}

// An account is a host with the place where the token for it is kept.
type account struct {
	host, file  string
	origin      cliconfig.Origin
	config      *cliconfig.Config
	credentials *cliconfig.Credentials
}

func (e *env) account(args []string, verb string) (*account, diag.List) {
	name := "app.terraform.io" // where people have accounts
	switch {
	case len(args) > 0:
		name = args[0]
	case e.Dialect != dialect.Terraform:
		return nil, login.Failed.As("Missing host").List("Say which host the token is for: weir %s HOST.", verb)
	}
	host, err := cliconfig.HostName(name)
	if err != nil {
		return nil, login.Failed.As("Invalid hostname").List("The given hostname %q is not valid: %s.", name, err)
	}
	config, environment, diags := e.directory.Place.UserSettings()
	if diags.HasErrors() {
		return nil, diags
	}
	a := &account{host: host, file: environment.CredentialsFile(), config: config,
		credentials: cliconfig.NewCredentials(config, environment.PluginDirs(e.originalDir))}
	if a.origin, err = a.credentials.Origin(a.file, host); err != nil {
		return nil, diag.Unreadable.As("Failed to read the credentials file").List("%s.", err)
	}
	if a.origin == cliconfig.Elsewhere {
		return nil, login.Failed.As("Credentials for "+host+" are manually configured").List("The %s command cannot be used because credentials for this host are already configured in a CLI configuration file or in the environment. Revoke them at the host and remove them from there first.", verb)
	}
	return a, nil
}

func (e *env) login(ctx context.Context, args []string) int {
	if !e.input {
		return e.Fail(login.Failed.As("Login is an interactive command"), "The login command asks questions, so it can't be used with -input=false. Elsewhere, write credentials to a CLI configuration file, or set a TF_TOKEN_ variable.")
	}
	a, diags := e.account(args, "login")
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	client, err := login.Discover(ctx, useragent.Default(func(name string) string { return e.directory.Place.Environ[name] }), a.host, a.config.Hosts[a.host])
	var none login.NotOffered
	switch {
	case errors.As(err, &none):
		return e.Fail(login.Failed.As("Host does not support tokens API"), "The given hostname %q does not support creating authorization tokens. Create one at the host by other means and write it to a credentials block of the CLI configuration.", a.host)
	case err != nil:
		return e.Fail(login.Failed.As("Service discovery failed for "+a.host), "%s.", err)
	}
	keeper := "in plain text in the following file:\n    " + a.file
	if a.origin == cliconfig.InHelper {
		keeper = "with the credentials helper " + a.config.Helper.Name + "."
	}
	e.Say("weir will request an API token for %s using OAuth.\n\nThis works with a web browser on this machine. Once the login is successful,\nweir will keep the token %s\n\n", a.host, keeper)
	answer, err := e.ask(ctx, question{query: "Do you want to proceed?", description: "Only 'yes' will be accepted to confirm."})
	if err != nil || strings.ToLower(answer) != "yes" {
		return e.Fail(diag.Interrupted.As("Login cancelled"), "The login was not confirmed.")
	}
	token, err := client.Obtain(ctx, useragent.Default(func(name string) string { return e.directory.Place.Environ[name] }), func(address string) { e.showPage(ctx, a.host, address) })
	if ctx.Err() != nil {
		return e.Fail(diag.Interrupted.As("Login cancelled"), "The login was interrupted before the host gave a token.")
	}
	if err != nil {
		return e.Fail(login.Failed.As("Failed to obtain auth token"), "%s.", err)
	}
	if err := a.credentials.Store(ctx, a.file, a.host, token); err != nil {
		return e.Fail(diag.Unwritable.As("Failed to save API token"), "The given host returned an API token, but it can't be saved: %s.", err)
	}
	e.Say("\n%s weir has obtained and saved an API token.\n\nThe new API token will be used for any future weir command that must make\nauthenticated requests to %s.\n\n", e.Pen().Paint("Success!", ansi.Bold, ansi.Green), a.host)
	return 0
}

// showPage opens an address in a browser, and prints it for those where that
// isn't possible.
func (e *env) showPage(ctx context.Context, host, address string) {
	if terminal.Browse(ctx, e.vars["BROWSER"], address) {
		e.Say("A web browser is about to open the login page for %s.\n\nIf it doesn't, open this address:\n    %s\n\n", host, address)
	} else {
		e.Say("Open the following URL to access the login page for %s:\n    %s\n\n", host, address)
	}
	e.Say("weir will now wait for the host to signal that login was successful.\n")
}

func (e *env) logout(ctx context.Context, args []string) int {
	a, diags := e.account(args, "logout")
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	switch a.origin {
	case cliconfig.Nowhere:
		e.Say("No credentials for %s are stored.\n\n", a.host)
		return 0
	case cliconfig.InHelper:
		e.Say("Removing the stored credentials for %s from the credentials helper %s.\n\n", a.host, a.config.Helper.Name)
	default:
		e.Say("Removing the stored credentials for %s from the following file:\n    %s\n\n", a.host, a.file)
	}
	if err := a.credentials.Forget(ctx, a.file, a.host); err != nil {
		return e.Fail(diag.Unwritable.As("Failed to remove API token"), "Unable to remove stored API token: %s.", err)
	}
	e.Say("%s weir has removed the stored API token for %s.\n\n", e.Pen().Paint("Success!", ansi.Bold, ansi.Green), a.host)
	return 0
}
