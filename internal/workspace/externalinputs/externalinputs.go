// Package externalinputs reads the external inputs of deployments: identity tokens and values of
// stores from files, the environment, commands and servers, and published outputs of other
// stacks.
//
// It owns these ways. It doesn't know what the values are for, and keeps none of them but
// tokens that have to be in a file.
package externalinputs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/remoteoutputs"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// A Reader is a deploy.Outside for one run: it asks once for each thing.
type Reader struct {
	Context  context.Context
	Settings cliconfig.Stacks
	Environ  map[string]string
	// Path is where a file of the settings or another stack is.
	Path func(name string) string
	// Subscriber is the directory of the stack that reads, as other stacks see it.
	Subscriber string
	// TokenDir is where tokens are written that have to be in files.
	TokenDir string
	HTTP     *http.Client
	// Published reads what the stack in a directory has published, nil for nothing yet.
	Published func(dir string) (map[string]cty.Value, error)
	// Secrets learns every token; nil informs nobody.
	Secrets *secret.Known

	tokens map[string][2]string
	stores map[string]map[string]cty.Value
}

// limit is how much is read of any answer.
const limit = 1 << 20

// Token implements deploy.Outside.
func (r *Reader) Token(t *deploy.Token) (token, file string, err error) {
	if have, ok := r.tokens[t.Name]; ok {
		return have[0], have[1], nil
	}
	s := r.Settings.Tokens[t.Name]
	if s == nil {
		s = r.Settings.Tokens["*"]
	}
	if s == nil {
		return "", "", fmt.Errorf("nothing says where the identity token %q comes from. Say so in the CLI configuration file:\n    stacks {\n      identity_token %q {\n        command = [\"PROGRAM\", \"ARGUMENT\"]\n      }\n    }\nIn place of command there can be file, environment (the name of a variable) or url", t.Name, t.Name)
	}
	text, err := r.token(s, t)
	if err != nil {
		return "", "", fmt.Errorf("the identity token %q can't be had: %w. Where it comes from is said at %s", t.Name, err, s.Range)
	}
	token = strings.TrimSpace(text)
	r.Secrets.AddText(token)
	if token == "" {
		return "", "", fmt.Errorf("the identity token %q is empty. Where it comes from is said at %s", t.Name, s.Range)
	}
	file = r.Path(s.File)
	if s.File == "" {
		file = filepath.Join(r.TokenDir, t.Name+".jwt")
		if err := os.MkdirAll(r.TokenDir, 0o700); err != nil {
			return "", "", err
		}
		if err := durable.Replace(file, []byte(token), 0o600); err != nil {
			return "", "", err
		}
	}
	if r.tokens == nil {
		r.tokens = map[string][2]string{}
	}
	r.tokens[t.Name] = [2]string{token, file}
	return token, file, nil
}

func (r *Reader) token(s *cliconfig.Source, t *deploy.Token) (string, error) {
	switch {
	case s.File != "":
		data, err := readlimit.Any(r.Path(s.File), r.Context.Done())
		return string(data), err
	case s.Environment != "":
		text, ok := r.Environ[s.Environment]
		if !ok {
			return "", fmt.Errorf("there is no environment variable %s", s.Environment)
		}
		return text, nil
	case len(s.Command) > 0:
		data, err := r.run(s.Command, "WEIR_TOKEN="+t.Name, "WEIR_AUDIENCE="+strings.Join(t.Audience, ","))
		return string(data), err
	}
	data, err := r.get(s, url.Values{"audience": t.Audience})
	if err != nil {
		return "", err
	}
	var answer map[string]any
	if json.Unmarshal(data, &answer) != nil {
		return string(data), nil
	}
	for _, name := range []string{"value", "id_token", "token", "access_token"} {
		if text, ok := answer[name].(string); ok {
			return text, nil
		}
	}
	return "", errors.New("the answer is a JSON object without \"value\", \"id_token\" and \"token\"")
}

// run is what a command prints.
func (r *Reader) run(command []string, further ...string) ([]byte, error) {
	cmd := exec.CommandContext(r.Context, command[0], command[1:]...)
	for name, v := range r.Environ {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	cmd.Env, cmd.Dir = append(cmd.Env, further...), r.Path(".")
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(problem.String()); said != "" {
			return nil, fmt.Errorf("%s: %w: %s", command[0], err, said)
		}
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	return out.Bytes(), nil
}

// get asks a server, who is reported the secret also in the headers named.
func (r *Reader) get(s *cliconfig.Source, query url.Values, headers ...string) ([]byte, error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	if len(query["audience"]) > 0 {
		at.RawQuery = strings.Trim(at.RawQuery+"&"+query.Encode(), "&")
	}
	request, err := http.NewRequestWithContext(r.Context, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	if s.Bearer != "" {
		secret, ok := r.Environ[s.Bearer]
		if !ok {
			return nil, fmt.Errorf("there is no environment variable %s", s.Bearer)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		for _, name := range headers {
			request.Header.Set(name, secret)
		}
	}
	response, err := r.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, limit))
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("the server answered %s", response.Status)
	}
	return data, err
}

// Store implements deploy.Outside.
func (r *Reader) Store(s *deploy.Store) (map[string]cty.Value, error) {
	key := s.Type + "." + s.Name
	if have, ok := r.stores[key]; ok {
		return have, nil
	}
	var from *cliconfig.Source
	for _, name := range []string{s.Name, s.ID, s.Label, "*"} {
		if from = r.Settings.Stores[[2]string{s.Type, name}]; from != nil && name != "" {
			break
		}
	}
	if from == nil {
		return nil, fmt.Errorf("nothing says where the values of the store %q are. Say so in the CLI configuration file:\n    stacks {\n      store %q %q {\n        file = \"FILE.tfvars\"\n      }\n    }\nIn place of file there can be environment (what the names of variables begin with), command or url", s.Name, s.Type, s.Name)
	}
	values, err := r.store(from, s)
	if err != nil {
		return nil, fmt.Errorf("the store %q can't be read: %w. Where it is is said at %s", s.Name, err, from.Range)
	}
	if r.stores == nil {
		r.stores = map[string]map[string]cty.Value{}
	}
	r.stores[key] = values
	return values, nil
}

func (r *Reader) store(from *cliconfig.Source, s *deploy.Store) (map[string]cty.Value, error) {
	switch {
	case from.Given:
		values := map[string]cty.Value{}
		for name, v := range r.Environ {
			if short, ok := strings.CutPrefix(name, from.Environment); ok && short != "" {
				values[short] = cty.StringVal(v)
			}
		}
		if len(values) == 0 {
			return nil, fmt.Errorf("there is no environment variable whose name begins with %q", from.Environment)
		}
		return values, nil
	case from.File != "":
		return r.file(from.File)
	case len(from.Command) > 0:
		data, err := r.run(from.Command, "WEIR_STORE="+s.Name, "WEIR_STORE_ID="+s.ID)
		if err != nil {
			return nil, err
		}
		return object(data)
	}
	data, err := r.get(from, nil, "X-Vault-Token")
	if err != nil {
		return nil, err
	}
	return object(data)
}

// file reads values from a file, by its name, or from one file for each.
func (r *Reader) file(name string) (map[string]cty.Value, error) {
	path := r.Path(name)
	values := map[string]cty.Value{}
	if entries, err := os.ReadDir(path); err == nil {
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			data, err := readlimit.File(filepath.Join(path, e.Name()))
			if err != nil {
				return nil, err
			}
			values[e.Name()] = cty.StringVal(strings.TrimSuffix(string(data), "\n"))
		}
		return values, nil
	}
	data, err := readlimit.Any(path, r.Context.Done())
	switch {
	case err != nil:
		return nil, err
	case strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".tfvars.json"):
		return object(data)
	case strings.HasSuffix(name, ".tfvars"), strings.HasSuffix(name, ".tfvars.json"):
		list, diags := module.ParseVariables(path, data)
		if err := diags.Err(); err != nil {
			return nil, err
		}
		for _, v := range list {
			values[v.Name] = v.Value
		}
		return values, nil
	}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		if line == "" || line[0] == '#' {
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d of %s isn't NAME=VALUE. Files that end in .tfvars and .json are read as such", i+1, name)
		}
		if n := len(v); n > 1 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
			v = v[1 : n-1]
		}
		values[strings.TrimSpace(key)] = cty.StringVal(v)
	}
	return values, nil
}

// object reads values from JSON. Servers of secrets have them within "data", those
// with versions within "data" of that.
func object(data []byte) (map[string]cty.Value, error) {
	var fields map[string]json.RawMessage
	for i := range 3 {
		fields = nil
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, fmt.Errorf("it isn't a JSON object: %w", err)
		}
		inner := bytes.TrimSpace(fields["data"])
		if i == 2 || len(inner) == 0 || inner[0] != '{' || i == 1 && fields["metadata"] == nil {
			break
		}
		data = inner
	}
	values := map[string]cty.Value{}
	for name, raw := range fields {
		ty, err := ctyjson.ImpliedType(raw)
		if err != nil {
			return nil, err
		}
		if values[name], err = ctyjson.Unmarshal(raw, ty); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Upstream implements deploy.Outside. The stack that is read learns who reads it.
func (r *Reader) Upstream(u *deploy.Upstream) (map[string]cty.Value, error) {
	dir, ok := r.Directory(u)
	if !ok {
		return nil, fmt.Errorf("nothing says where the stack %q is. Give its directory as the source, or say so in the CLI configuration file:\n    stacks {\n      upstream %q {\n        directory = \"DIRECTORY\"\n      }\n    }", u.Source, u.Source)
	}
	if at, err := os.Stat(r.Path(dir)); err != nil || !at.IsDir() {
		return nil, fmt.Errorf("the directory %s of the stack behind upstream_input %q isn't there. Its source, or an upstream block in the stacks block of the CLI configuration, has to name it; relative paths start at the directory of this stack", r.Path(dir), u.Name)
	}
	values, err := r.Published(dir)
	if err != nil {
		return nil, err
	}
	dir = r.Path(dir)
	if r.Subscriber != "" {
		if err := remoteoutputs.Subscribe(dir, r.Subscriber); err != nil {
			return nil, err
		}
	}
	if values == nil {
		return nil, fmt.Errorf("the stack in %s has published nothing yet. Apply it first", dir)
	}
	return values, nil
}

// Directory is that of another stack, as its source or the settings name it. It isn't ok where neither does.
func (r *Reader) Directory(u *deploy.Upstream) (dir string, ok bool) {
	if dir, ok = r.Settings.Upstreams[u.Source]; !ok {
		dir, ok = local(u.Source)
	}
	return dir, ok
}

// local reports whether a source is a directory.
func local(source string) (string, bool) {
	is := filepath.IsAbs(source) || slices.ContainsFunc([]string{"./", "../"}, func(p string) bool { return strings.HasPrefix(source+"/", p) })
	return filepath.FromSlash(source), is
}
