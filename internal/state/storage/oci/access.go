package oci

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/rest"
)

// The kinds of credentials.
const (
	apiKey              = "ApiKey"
	instance            = "InstancePrincipal"
	instanceCertificate = "InstancePrincipalWithCerts"
	securityToken       = "SecurityToken"
	resource            = "ResourcePrincipal"
	workload            = "OKEWorkloadIdentity"
)

var kinds = []string{apiKey, instance, instanceCertificate, securityToken, resource, workload}

// access is who asks, and where.
type access struct {
	kind, profile, region    string
	tenancy, user, print     string
	key, keyFile, password   string
	home                     string   // where .oci is
	files                    []string // that configurations of Oracle's programs are in
	certificates             string   // directory
	metadata                 string   // of instances
	pod                      string   // directory with the service account of a pod
	host                     string   // in place of that of the region, "" for none
	domain, unless           string   // in place of the domain of the region, unless it ends with
	onBehalf, onBehalfFile   string   // a token
	authorities              string   // file
	anybody, certainlyBehalf bool
	getenv                   func(string) string
	transport                http.RoundTripper
	agent                    string
	patience                 time.Duration

	mu  sync.Mutex
	now *identity
}

func readAccess(r *backendconfig.Reader) *access {
	get := func(name string) string { return text(r, "", name) }
	a := &access{
		kind: text(r, apiKey, "auth"), profile: get("config_file_profile"), region: get("region"),
		tenancy: get("tenancy_ocid"), user: get("user_ocid"), print: get("fingerprint"),
		key: get("private_key"), keyFile: get("private_key_path"), password: get("private_key_password"),
		home: r.Getenv("OCI_HOME_OVERRIDE"), certificates: setting(r, "test_certificates_location"),
		metadata: "http://169.254.169.254/opc/v2", pod: "/var/run/secrets/kubernetes.io/serviceaccount",
		domain: setting(r, "domain_name_override"), unless: setting(r, "has_correct_domain_name"),
		onBehalf: setting(r, "obo_token"), onBehalfFile: setting(r, "obo_token_path"), authorities: setting(r, "custom_cert_location"),
		getenv: r.Getenv, transport: r.Env.Transport, agent: useragent.Name(r.Getenv), patience: r.Patience(),
	}
	if to := r.Getenv("OCI_METADATA_BASE_URL"); to != "" {
		a.metadata = strings.TrimSuffix(to, "/")
	}
	if a.home == "" {
		a.home = r.Getenv("HOME")
	}
	if a.home == "" {
		a.home = r.Getenv("USERPROFILE")
	}
	if a.certificates == "" {
		a.certificates = r.Env.Dir
	}
	a.files = []string{filepath.Join(a.home, ".oci", "config"), filepath.Join(a.home, ".oraclebmc", "config")}
	if file := r.Getenv("OCI_CONFIG_FILE"); file != "" && a.profile == "" {
		a.files = []string{a.expand(file, r.Env.Dir)}
	}
	for _, of := range []struct {
		name string
		to   *bool
	}{{"accept_local_certs", &a.anybody}, {"use_obo_token", &a.certainlyBehalf}} {
		if text := setting(r, of.name); text != "" {
			var err error
			if *of.to, err = strconv.ParseBool(text); err != nil {
				r.Problem("", "Invalid backend configuration", "%q in the environment must be true or false, and is %q.", of.name, text)
			}
		}
	}
	for override := range strings.SplitSeq(setting(r, "CLIENT_HOST_OVERRIDES"), ";") {
		if host, found := strings.CutPrefix(override, "oci_object_storage.ObjectStorageClient="); found {
			a.host = host
		}
	}
	a.check(r)
	return a
}

func (a *access) check(r *backendconfig.Reader) {
	i := slices.IndexFunc(kinds, func(kind string) bool { return strings.EqualFold(kind, a.kind) })
	if i < 0 {
		r.Problem("auth", "Invalid authentication method", "auth must be one of %s, and is %q.", strings.Join(kinds, ", "), a.kind)
		return
	}
	a.kind = kinds[i]
	if a.region == "" && slices.Contains([]string{instance, instanceCertificate, securityToken}, a.kind) {
		r.Problem("region", "Missing region attribute required", "The attribute %q is required by the backend for %s authentication.", "region", a.kind)
	}
	if a.profile == "" && a.kind == securityToken {
		r.Problem("config_file_profile", "Missing config_file_profile attribute required", "The attribute %q is required by the backend for %s authentication.", "config_file_profile", a.kind)
	}
	if a.key != "" && a.keyFile != "" {
		r.Problem("private_key_path", "Invalid Attribute Combination", "Only one of private_key, private_key_path can be set.")
	}
	if a.keyFile != "" {
		a.keyFile = a.expand(a.keyFile, r.Env.Dir)
	}
}

// expand is a path from a directory, or from that of the user with ~.
func (a *access) expand(path, from string) string {
	if rest, found := strings.CutPrefix(path, "~/"); found {
		return filepath.Join(a.home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(from, path)
}

// open is how requests are made, signed by nobody.
func (a *access) open() (http.RoundTripper, error) {
	if a.transport != nil || a.authorities == "" && !a.anybody {
		if a.transport == nil {
			return http.DefaultTransport, nil
		}
		return a.transport, nil
	}
	trust := rest.Trust{Anybody: a.anybody}
	if a.authorities != "" {
		var err error
		if trust.Authorities, err = os.ReadFile(a.authorities); err != nil {
			return nil, err
		}
	}
	return trust.Transport()
}

// client is one for the service, whose requests are signed.
func (a *access) client(ctx context.Context) (*rest.Client, error) {
	if _, err := a.who(ctx); err != nil { // what is wrong won't be right the next time
		return nil, err
	}
	region, err := a.where()
	if err != nil {
		return nil, err
	}
	base, err := a.address(region)
	if err != nil {
		return nil, err
	}
	transport, err := a.open()
	if err != nil {
		return nil, err
	}
	return &rest.Client{HTTP: useragent.Client(&http.Client{Transport: &signing{a, transport}}, a.agent), Base: *base, Patience: a.patience}, nil
}

// realms are the domains of regions that aren't in the public cloud, by what their names
// begin with.
var realms = []struct{ prefix, domain string }{
	{"us-langley-", "oraclegovcloud.com"}, {"us-luke-", "oraclegovcloud.com"},
	{"us-gov-", "oraclegovcloud.com"}, {"uk-gov-", "oraclegovcloud.uk"},
	{"eu-frankfurt-2", "oraclecloud.eu"}, {"eu-madrid-2", "oraclecloud.eu"},
	{"ap-chiyoda-", "oraclecloud8.com"}, {"ap-ibaraki-", "oraclecloud8.com"}, {"me-dcc-muscat-", "oraclecloud9.com"},
	{"ap-dcc-canberra-", "oraclecloud10.com"}, {"eu-dcc-milan-", "oraclecloud14.com"}, {"eu-dcc-dublin-", "oraclecloud14.com"}, {"eu-dcc-rating-", "oraclecloud14.com"},
	{"ap-dcc-gazipur-", "oraclecloud15.com"}, {"eu-jovanovac-", "oraclecloud20.com"}, {"me-dcc-doha-", "oraclecloud21.com"},
	{"", "oraclecloud.com"},
}

// domainOf is that of a region.
func (a *access) domainOf(region string) string {
	domain := ""
	for _, realm := range realms {
		if strings.HasPrefix(region, realm.prefix) {
			domain = realm.domain
			break
		}
	}
	if a.domain != "" && (a.unless == "" || !strings.HasSuffix(domain, a.unless)) {
		domain = a.domain
	}
	return domain
}

// address is that of the service.
func (a *access) address(region string) (*url.URL, error) {
	text := a.host
	if text == "" {
		text = "objectstorage." + region + "." + a.domainOf(region)
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	to, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || to.Host == "" {
		return nil, fmt.Errorf("%q isn't the address of an Object Storage", text)
	}
	return to, nil
}
