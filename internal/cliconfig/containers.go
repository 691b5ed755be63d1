package cliconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/sys/readlimit"
)

// Containers say who asks registries of the OCI.
type Containers struct {
	// Logins are written down, by what repositories begin with: HOST or HOST/PATH.
	Logins map[string]ContainerLogin
	// Closed leaves out what programs for containers have stored; Files are inspected in place
	// of the places where they do, if not nil; Helper is asked where nothing else is known.
	Closed bool
	Files  []string
	Helper string
}

// A ContainerLogin is who asks for some repositories, or the helper that knows.
type ContainerLogin struct {
	ociregistry.Login
	Helper string
}

var helperName = lazyregexp.New(`^[a-zA-Z0-9_.-]+$`)

// containers reads oci_default_credentials.
func (r *reader) containers(it item) {
	c := &r.config.Containers
	for _, arg := range it.children() {
		switch arg.name {
		case "discover_ambient_credentials":
			on := true
			if r.value(arg, &on) {
				c.Closed = !on
			}
		case "docker_style_config_files":
			files := []string{}
			if !r.value(arg, &files) {
				continue
			}
			c.Files = []string{}
			for _, name := range files {
				if !filepath.IsAbs(name) {
					name = filepath.Join(filepath.Dir(r.file), name)
				}
				c.Files = append(c.Files, name)
			}
		case "docker_credentials_helper":
			r.containerHelper(arg, &c.Helper)
		default:
			r.unknown(arg, "oci_default_credentials")
		}
	}
	if c.Closed && c.Files != nil {
		r.fail(it.pos, "Invalid oci_default_credentials block", "With discover_ambient_credentials = false docker_style_config_files isn't used: remove one of the two.")
	}
}

func (r *reader) containerHelper(arg item, into *string) {
	if r.value(arg, into) && !helperName.Get().MatchString(*into) {
		r.fail(arg.pos, "Invalid credential helper", "The helper %q can't be the end of the name of a program docker-credential-….", *into)
	}
}

// containerLogins reads oci_credentials.
func (r *reader) containerLogins(it item) {
	for _, at := range it.children() {
		if !it.json && len(it.labels) == 0 {
			r.fail(it.pos, "Invalid oci_credentials block", "An oci_credentials block needs what repositories begin with: oci_credentials \"example.com/team\" { ... }.")
			return
		}
		var l ContainerLogin
		for _, arg := range at.children() {
			switch into := map[string]*string{"username": &l.User, "password": &l.Password, "access_token": &l.Token, "refresh_token": &l.Refresh}[arg.name]; {
			case into != nil:
				r.value(arg, into)
			case arg.name == "docker_credentials_helper":
				r.containerHelper(arg, &l.Helper)
			default:
				r.unknown(arg, "an oci_credentials block")
			}
		}
		kinds := 0
		for _, there := range []bool{l.User != "" || l.Password != "", l.Token != "" || l.Refresh != "", l.Helper != ""} {
			if there {
				kinds++
			}
		}
		switch {
		case kinds != 1:
			r.fail(at.pos, "Invalid oci_credentials block", "It takes either username and password, or access_token and refresh_token, or docker_credentials_helper.")
		case l.Helper != "" && strings.Contains(at.name, "/"):
			r.fail(at.pos, "Invalid oci_credentials block", "Helpers know of whole registries only, and %q is a part of one.", at.name)
		}
		if r.config.Containers.Logins == nil {
			r.config.Containers.Logins = map[string]ContainerLogin{}
		}
		r.config.Containers.Logins[at.name] = l
	}
}

// fit is how much of a repository's name the prefix is, in parts; 0 for not at all.
func fit(prefix string, of ociregistry.Repository) int {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix == "https://index.docker.io/v1" {
		prefix = "docker.io"
	}
	if whole := of.String(); whole != prefix && !strings.HasPrefix(whole, prefix+"/") {
		return 0
	}
	return 1 + strings.Count(prefix, "/")
}

// ContainerLogin finds who asks for a repository: what fits most of its name.
func (c *Config) ContainerLogin(ctx context.Context, env Environment, of ociregistry.Repository) (ociregistry.Login, error) {
	var best ContainerLogin
	most := 0
	take := func(n int, l ContainerLogin) {
		if n > most {
			most, best = n, l
		}
	}
	for prefix, l := range c.Containers.Logins {
		take(fit(prefix, of), l)
	}
	global := c.Containers.Helper
	if !c.Containers.Closed {
		store, err := c.Containers.stored(env, of, take)
		if err != nil {
			return ociregistry.Login{}, err
		}
		if global == "" {
			global = store
		}
	}
	if most == 0 {
		best.Helper = global
	}
	if best.Helper != "" {
		return fromHelper(ctx, best.Helper, env, of.Registry)
	}
	return best.Login, nil
}

// stored looks at what programs for containers have stored, and returns the helper that
// they ask where they have nothing.
func (c Containers) stored(env Environment, of ociregistry.Repository, take func(int, ContainerLogin)) (global string, err error) {
	files, given := c.Files, c.Files != nil
	if !given {
		files = env.containerFiles()
	}
	for _, name := range files {
		content, err := readlimit.File(name)
		if errors.Is(err, fs.ErrNotExist) && !given {
			continue
		}
		var stored struct {
			Auths map[string]*struct {
				Auth []byte `json:"auth"`
			} `json:"auths"`
			CredHelpers map[string]string `json:"credHelpers"`
			CredsStore  string            `json:"credsStore"`
		}
		if err == nil {
			err = json.Unmarshal(content, &stored)
		}
		if err != nil {
			return "", fmt.Errorf("the credentials for registries in %s can't be read: %w", name, err)
		}
		for prefix, entry := range stored.Auths {
			if entry == nil || len(entry.Auth) == 0 { // a helper has it
				continue
			}
			if user, password, ok := strings.Cut(string(entry.Auth), ":"); ok {
				take(fit(prefix, of), ContainerLogin{Login: ociregistry.Login{User: user, Password: password}})
			}
		}
		if helper := stored.CredHelpers[of.Registry]; helper != "" {
			take(1, ContainerLogin{Helper: helper})
		}
		if global == "" {
			global = stored.CredsStore
		}
	}
	return global, nil
}

// containerFiles are where programs for containers store credentials.
func (env Environment) containerFiles() []string {
	var files []string
	if dir := env.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	dir := env.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(env.Home, ".config")
	}
	return append(files, filepath.Join(dir, "containers", "auth.json"), filepath.Join(env.Home, ".docker", "config.json"))
}

// fromHelper runs a program that stores names and passwords for registries.
func fromHelper(ctx context.Context, name string, env Environment, registry string) (ociregistry.Login, error) {
	if !helperName.Get().MatchString(name) {
		return ociregistry.Login{}, fmt.Errorf("the helper %q can't be the end of the name of a program docker-credential-…", name)
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker-credential-"+name, "get")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader("https://"+registry+"\n"), &out, &said, env.All
	err := cmd.Run()
	var found struct{ Username, Secret string }
	switch {
	case err != nil && strings.Contains(out.String(), "credentials not found"):
		return ociregistry.Login{}, nil
	case err != nil:
		return ociregistry.Login{}, fmt.Errorf("the helper docker-credential-%s failed for %s: %w%s", name, registry, err, suffix(said.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		return ociregistry.Login{}, fmt.Errorf("the helper docker-credential-%s didn't answer with JSON for %s", name, registry)
	}
	if found.Username == "<token>" {
		return ociregistry.Login{Refresh: found.Secret}, nil
	}
	return ociregistry.Login{User: found.Username, Password: found.Secret}, nil
}
