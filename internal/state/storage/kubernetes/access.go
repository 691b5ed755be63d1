package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ctyyaml "github.com/zclconf/go-cty-yaml"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/rest"
)

// access is how to reach the cluster: where it is, and who asks.
type access struct {
	dir, home              string
	inCluster              bool
	podHost, podPort       string
	files                  []string
	context, user, cluster string
	patience               time.Duration
	given                  place // by arguments
}

// A place is a cluster and who one is there.
type place struct {
	host               string
	trust              rest.Trust
	username, password string
	token, tokenFile   string
	proxy              string
	program            *program
}

// A program prints credentials.
type program struct {
	version, command string
	args             []string
	env              map[string]string
	dir              string
}

func readAccess(r *backendconfig.Reader) access {
	a := access{
		dir: r.Env.Dir, home: r.Getenv("HOME"),
		inCluster: r.Bool("in_cluster_config", "KUBE_IN_CLUSTER_CONFIG"),
		podHost:   r.Getenv("KUBERNETES_SERVICE_HOST"), podPort: r.Getenv("KUBERNETES_SERVICE_PORT"),
		context: r.Text("config_context", "KUBE_CTX"),
		user:    r.Text("config_context_auth_info", "KUBE_CTX_AUTH_INFO"),
		cluster: r.Text("config_context_cluster", "KUBE_CTX_CLUSTER"),
		given: place{
			host:     r.Text("host", "KUBE_HOST"),
			username: r.Text("username", "KUBE_USER"),
			password: r.Text("password", "KUBE_PASSWORD"),
			token:    r.Text("token", "KUBE_TOKEN"),
			proxy:    r.Text("proxy_url", "KUBE_PROXY_URL"),
			trust: rest.Trust{
				Authorities: []byte(r.Text("cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA")),
				Certificate: []byte(r.Text("client_certificate", "KUBE_CLIENT_CERT_DATA")),
				Key:         []byte(r.Text("client_key", "KUBE_CLIENT_KEY_DATA")),
				Anybody:     r.Bool("insecure", "KUBE_INSECURE"),
			},
		},
	}
	if r.BoolOr(true, "load_config_file", "KUBE_LOAD_CONFIG_FILE") {
		if one := r.Text("config_path", "KUBE_CONFIG_PATH"); one != "" {
			a.files = []string{one}
		} else if a.files = r.Texts("config_paths"); len(a.files) == 0 {
			a.files = filepath.SplitList(r.Getenv("KUBE_CONFIG_PATHS"))
		}
	}
	if blocks := r.Config.GetAttr("exec"); !blocks.IsNull() && blocks.LengthInt() > 0 {
		inner := &backendconfig.Reader{Config: blocks.AsValueSlice()[0], Env: r.Env}
		a.given.program = &program{version: inner.Text("api_version"), command: inner.Text("command"), args: inner.Texts("args"), env: inner.Map("env"), dir: a.dir}
	}
	return a
}

// place says where the cluster is, without looking.
func (a *access) place() string {
	if a.given.host != "" {
		return a.given.host
	}
	return strings.Join(append(slices.Clone(a.files), a.context, a.cluster), " ")
}

func (a *access) path(file, from string) string {
	if rest, found := strings.CutPrefix(file, "~/"); found {
		return filepath.Join(a.home, rest)
	}
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(from, file)
}

// open finds the cluster and makes a client of it.
func (a *access) open(ctx context.Context) (*rest.Client, error) {
	p, err := a.find()
	if err != nil {
		return nil, err
	}
	p.override(a.given)
	if p.host == "" {
		return nil, errors.New("there is no address of a cluster: set config_path to a kubeconfig file, host, or in_cluster_config")
	}
	if !strings.Contains(p.host, "://") {
		scheme := "http"
		if len(p.trust.Authorities) > 0 || len(p.trust.Certificate) > 0 || p.trust.Anybody {
			scheme = "https"
		}
		p.host = scheme + "://" + p.host
	}
	at, err := url.Parse(strings.TrimRight(p.host, "/"))
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("the address of the cluster is %q, which isn't a URL", p.host)
	}
	if p.program != nil && p.token == "" && p.username == "" {
		if err := a.ask(ctx, &p); err != nil {
			return nil, fmt.Errorf("the program %s gives no credentials: %w", p.program.command, err)
		}
	}
	transport, err := p.trust.Transport()
	if err != nil {
		return nil, err
	}
	if p.proxy != "" {
		proxy, err := url.Parse(p.proxy)
		if err != nil {
			return nil, fmt.Errorf("the proxy of the cluster isn't a URL: %w", err)
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	client := &rest.Client{HTTP: &http.Client{Transport: transport}, Base: *at, Header: http.Header{}, Patience: a.patience}
	switch {
	case p.token != "":
		client.Header.Set("Authorization", "Bearer "+p.token)
	case p.tokenFile != "":
		client.HTTP.Transport = bearer{transport, p.tokenFile}
	case p.username != "":
		(&http.Request{Header: client.Header}).SetBasicAuth(p.username, p.password)
	}
	return client, nil
}

// bearer sends the token that a file has at that time: it is renewed every hour.
type bearer struct {
	next http.RoundTripper
	file string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := os.ReadFile(b.file)
	if err != nil {
		return nil, fmt.Errorf("the token can't be read: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return b.next.RoundTrip(r)
}

// override has the arguments stand before what was found.
func (p *place) override(given place) {
	p.host = cmp.Or(given.host, p.host)
	p.username, p.password = cmp.Or(given.username, p.username), cmp.Or(given.password, p.password)
	p.token = cmp.Or(given.token, p.token)
	p.trust.Anybody = p.trust.Anybody || given.trust.Anybody
	for to, from := range map[*[]byte][]byte{&p.trust.Authorities: given.trust.Authorities, &p.trust.Certificate: given.trust.Certificate, &p.trust.Key: given.trust.Key} {
		if len(from) > 0 {
			*to = from
		}
	}
	if given.program != nil {
		p.program = given.program
	}
}

// serviceAccount is where pods have their credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// find looks into the pod or the files.
func (a *access) find() (place, error) {
	if a.inCluster {
		if a.podHost == "" || a.podPort == "" {
			return place{}, errors.New("in_cluster_config is set, and this isn't a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT aren't there")
		}
		authorities, err := os.ReadFile(serviceAccount + "/ca.crt")
		return place{host: "https://" + net.JoinHostPort(a.podHost, a.podPort), tokenFile: serviceAccount + "/token", trust: rest.Trust{Authorities: authorities}}, err
	}
	var all kubeconfig
	for _, file := range a.files {
		at := a.path(file, a.dir)
		content, err := os.ReadFile(at)
		if errors.Is(err, os.ErrNotExist) && len(a.files) > 1 {
			continue
		}
		if err != nil {
			return place{}, fmt.Errorf("the kubeconfig file can't be read: %w", err)
		}
		one, err := parse(content)
		if err != nil {
			return place{}, fmt.Errorf("the kubeconfig file %s can't be read: %w", file, err)
		}
		all.add(one, filepath.Dir(at))
	}
	if len(a.files) == 0 {
		return place{}, nil
	}
	return a.choose(all)
}

// kubeconfig is what such files have that matters here.
type kubeconfig struct {
	CurrentContext string  `json:"current-context"`
	Contexts       []entry `json:"contexts"`
	Clusters       []entry `json:"clusters"`
	Users          []entry `json:"users"`
}

// An entry has one of its parts.
type entry struct {
	Name    string `json:"name"`
	Context struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	} `json:"context"`
	Cluster struct {
		Server        string `json:"server"`
		Authority     string `json:"certificate-authority"`
		AuthorityData string `json:"certificate-authority-data"`
		Insecure      bool   `json:"insecure-skip-tls-verify"`
		ServerName    string `json:"tls-server-name"`
		Proxy         string `json:"proxy-url"`
	} `json:"cluster"`
	User struct {
		Certificate     string `json:"client-certificate"`
		CertificateData string `json:"client-certificate-data"`
		Key             string `json:"client-key"`
		KeyData         string `json:"client-key-data"`
		Token           string `json:"token"`
		TokenFile       string `json:"tokenFile"`
		Username        string `json:"username"`
		Password        string `json:"password"`
		Exec            *struct {
			Version string   `json:"apiVersion"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Env     []struct{ Name, Value string }
		} `json:"exec"`
	} `json:"user"`
	dir string // of the file
}

// parse reads YAML, of which JSON is a part.
func parse(content []byte) (k kubeconfig, err error) {
	t, err := ctyyaml.Standard.ImpliedType(content)
	if err != nil {
		return k, err
	}
	v, err := ctyyaml.Standard.Unmarshal(content, t)
	if err != nil {
		return k, err
	}
	text, err := ctyjson.Marshal(v, t)
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(text, &k)
}

// add takes over what isn't there yet.
func (k *kubeconfig) add(other kubeconfig, dir string) {
	k.CurrentContext = cmp.Or(k.CurrentContext, other.CurrentContext)
	for to, from := range map[*[]entry][]entry{&k.Contexts: other.Contexts, &k.Clusters: other.Clusters, &k.Users: other.Users} {
		for _, e := range from {
			e.dir = dir
			if named(*to, e.Name) == nil {
				*to = append(*to, e)
			}
		}
	}
}

func named(entries []entry, name string) *entry {
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i]
		}
	}
	return nil
}

// choose is the place that the context names.
func (a *access) choose(k kubeconfig) (p place, err error) {
	cluster, user := a.cluster, a.user
	if name := cmp.Or(a.context, k.CurrentContext); name != "" {
		found := named(k.Contexts, name)
		if found == nil {
			return p, fmt.Errorf("there is no context %q in the kubeconfig files", name)
		}
		cluster, user = cmp.Or(cluster, found.Context.Cluster), cmp.Or(user, found.Context.User)
	}
	read := func(what, data, file, dir string) (content []byte) {
		switch {
		case data != "":
			if content, err = base64.StdEncoding.DecodeString(data); err != nil {
				err = fmt.Errorf("%s isn't base64: %w", what, err)
			}
		case file != "":
			if content, err = os.ReadFile(a.path(file, dir)); err != nil {
				err = fmt.Errorf("%s can't be read: %w", what, err)
			}
		}
		return content
	}
	if cluster != "" {
		e := named(k.Clusters, cluster)
		if e == nil {
			return p, fmt.Errorf("there is no cluster %q in the kubeconfig files", cluster)
		}
		c := e.Cluster
		p.host, p.proxy, p.trust.Anybody, p.trust.ServerName = c.Server, c.Proxy, c.Insecure, c.ServerName
		if p.trust.Authorities = read("certificate-authority", c.AuthorityData, c.Authority, e.dir); err != nil {
			return p, err
		}
	}
	if user == "" {
		return p, nil
	}
	e := named(k.Users, user)
	if e == nil {
		return p, fmt.Errorf("there is no user %q in the kubeconfig files", user)
	}
	u := e.User
	p.token, p.username, p.password = u.Token, u.Username, u.Password
	if u.TokenFile != "" {
		p.tokenFile = a.path(u.TokenFile, e.dir)
	}
	if p.trust.Certificate = read("client-certificate", u.CertificateData, u.Certificate, e.dir); err != nil {
		return p, err
	}
	if p.trust.Key = read("client-key", u.KeyData, u.Key, e.dir); err != nil {
		return p, err
	}
	if u.Exec != nil {
		p.program = &program{version: u.Exec.Version, command: u.Exec.Command, args: u.Exec.Args, env: map[string]string{}, dir: e.dir}
		for _, v := range u.Exec.Env {
			p.program.env[v.Name] = v.Value
		}
	}
	return p, nil
}

// ask runs the program for credentials, by the interface of client.authentication.k8s.io.
func (a *access) ask(ctx context.Context, p *place) error {
	command := p.program.command
	if strings.ContainsRune(command, filepath.Separator) {
		command = a.path(command, p.program.dir)
	}
	cmd := exec.CommandContext(ctx, command, p.program.args...)
	cmd.Dir = a.dir
	cmd.Env = append(os.Environ(), `KUBERNETES_EXEC_INFO={"kind":"ExecCredential","apiVersion":"`+p.program.version+`","spec":{"interactive":false}}`)
	for name, value := range p.program.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var told struct {
		Status struct {
			Token           string `json:"token"`
			CertificateData string `json:"clientCertificateData"`
			KeyData         string `json:"clientKeyData"`
		} `json:"status"`
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return fmt.Errorf("its output can't be read: %w", err)
	}
	s := told.Status
	if s.Token == "" && s.CertificateData == "" {
		return errors.New("it prints neither a token nor a certificate")
	}
	p.token = s.Token
	if s.CertificateData != "" {
		p.trust.Certificate, p.trust.Key = []byte(s.CertificateData), []byte(s.KeyData)
	}
	return nil
}
