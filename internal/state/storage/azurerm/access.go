package azurerm

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"golang.org/x/crypto/pkcs12"

	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// access is how to reach the service: who asks, and where.
type access struct {
	account, agent                    string
	dir                               string // that paths are relative to
	group, subscription               string
	environment, metadataHost         string
	accessKey, signature              string
	tokens                            bool // for blobs, instead of the access key
	lookup                            bool // of the account's address for blobs
	tenant, client, secret            string
	clientFile, secretFile            string
	certificate, certificateFile      string
	password                          string
	cli, managed, workload, federated bool
	managedEndpoint                   string
	token, tokenFile                  string
	requestURL, requestToken          string
	connection                        string // of Azure DevOps
	pipelines                         bool   // whether Azure DevOps says where its tokens are
}

// clouds are the environments by the names that incumbents know.
func clouds() map[string]string {
	return map[string]string{
		"": "public", "public": "public", "global": "public", "canary": "public",
		"usgovernment": "government", "usgovernmentl4": "government", "dod": "government", "usgovernmentl5": "government",
		"china": "china",
	}
}

func readAccess(r *backendconfig.Reader) access {
	a := access{
		dir:             r.Env.Dir,
		group:           r.Text("resource_group_name"),
		subscription:    r.Text("subscription_id", "ARM_SUBSCRIPTION_ID"),
		environment:     strings.ToLower(r.Text("environment", "ARM_ENVIRONMENT")),
		metadataHost:    r.Text("metadata_host", "ARM_METADATA_HOST"),
		accessKey:       r.Text("access_key", "ARM_ACCESS_KEY"),
		signature:       strings.TrimPrefix(r.Text("sas_token", "ARM_SAS_TOKEN"), "?"),
		tokens:          r.Bool("use_azuread_auth", "ARM_USE_AZUREAD"),
		lookup:          r.Bool("lookup_blob_endpoint", "ARM_USE_DNS_ZONE_ENDPOINT"),
		tenant:          r.Text("tenant_id", "ARM_TENANT_ID"),
		client:          r.Text("client_id", "ARM_CLIENT_ID"),
		clientFile:      r.Text("client_id_file_path", "ARM_CLIENT_ID_FILE_PATH"),
		secret:          r.Text("client_secret", "ARM_CLIENT_SECRET"),
		secretFile:      r.Text("client_secret_file_path", "ARM_CLIENT_SECRET_FILE_PATH"),
		certificate:     r.Text("client_certificate", "ARM_CLIENT_CERTIFICATE"),
		certificateFile: r.Text("client_certificate_path", "ARM_CLIENT_CERTIFICATE_PATH"),
		password:        r.Text("client_certificate_password", "ARM_CLIENT_CERTIFICATE_PASSWORD"),
		cli:             r.BoolOr(true, "use_cli", "ARM_USE_CLI"),
		managed:         r.Bool("use_msi", "ARM_USE_MSI"),
		workload:        r.Bool("use_aks_workload_identity", "ARM_USE_AKS_WORKLOAD_IDENTITY"),
		federated:       r.Bool("use_oidc", "ARM_USE_OIDC"),
		token:           r.Text("oidc_token", "ARM_OIDC_TOKEN"),
		tokenFile:       r.Text("oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE"),
		requestURL:      r.Text("oidc_request_url", "ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"),
		requestToken:    r.Text("oidc_request_token", "ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"),
		connection:      r.Text("ado_service_connection_id", "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID", "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID", "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID"),
		pipelines:       r.Getenv("SYSTEM_OIDCREQUESTURI") != "",
	}
	if own := r.Text("ado_pipeline_service_connection_id"); own != "" {
		a.connection = own
	}
	if a.lookup && a.group == "" {
		r.Problem("lookup_blob_endpoint", "Invalid backend configuration", "lookup_blob_endpoint needs resource_group_name, to ask the resource manager for the storage account.")
	}
	if clouds()[a.environment] == "" {
		r.Problem("environment", "Invalid backend configuration", "There is no cloud named %q: use public, usgovernment or china, or a cloud of metadata_host.", a.environment)
	}
	if a.environment != "" && a.metadataHost != "" {
		r.Problem("metadata_host", "Conflicting configuration arguments", `"metadata_host": conflicts with environment`)
	}
	if a.accessKey != "" {
		if _, err := base64.StdEncoding.DecodeString(a.accessKey); err != nil {
			r.Problem("access_key", "Invalid backend configuration", "The access key of a storage account is base64, and this one isn't.")
		}
	}
	if _, err := url.ParseQuery(a.signature); err != nil {
		r.Problem("sas_token", "Invalid backend configuration", "A shared access signature is a list of parameters such as sv=…&sig=…, and this one isn't.")
	}
	if r.Getenv(managedVariable) == "" {
		a.managedEndpoint = r.Text("msi_endpoint", "ARM_MSI_ENDPOINT")
	}
	if r.Set("msi_endpoint") {
		r.Warn("msi_endpoint", "Deprecated Parameter", `Parameter "msi_endpoint" is deprecated. Set the environment variable MSI_ENDPOINT instead.`)
	}
	return a
}

// options are those of every client.
func (a *access) options(client *http.Client, in cloud.Configuration) policy.ClientOptions {
	return policy.ClientOptions{Cloud: in, Transport: client, Telemetry: policy.TelemetryOptions{Disabled: true}}
}

// open finds credentials and makes a client of a container.
func (a *access) open(ctx context.Context, client *http.Client, container string) (*service, error) {
	if client == nil {
		client = http.DefaultClient
	}
	client = sameorigin.Stay(useragent.Client(client, a.agent))
	in, suffix, err := a.cloud(ctx, client)
	if err != nil {
		return nil, err
	}
	options := a.options(client, in)
	var credential azcore.TokenCredential
	if a.lookup || a.accessKey == "" && a.signature == "" {
		if credential, err = a.credential(options); err != nil {
			return nil, err
		}
	}
	blobs := "https://" + a.account + ".blob." + suffix
	if a.lookup {
		if blobs, err = a.blobEndpoint(ctx, credential, options); err != nil {
			return nil, err
		}
	}
	s := &service{container: blobs + "/" + container}
	with := func(p policy.Policy) (*service, error) {
		var all runtime.PipelineOptions
		if p != nil {
			all.PerRetry = []policy.Policy{p}
		}
		s.pipeline = runtime.NewPipeline("weir", "", all, &options)
		return s, nil
	}
	if a.accessKey == "" && a.signature != "" {
		s.container += "?" + a.signature
		return with(nil)
	}
	key := a.accessKey
	if key == "" {
		if a.tokens {
			return with(runtime.NewBearerTokenPolicy(credential, []string{"https://storage.azure.com/.default"}, nil))
		}
		if key, err = a.listKeys(ctx, credential, options); err != nil {
			return nil, err
		}
	}
	decoded, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, fmt.Errorf("the access key of the storage account isn't base64: %w", err)
	}
	return with(&sharedKey{a.account, decoded})
}

// cloud is where services are, and the domain of storage accounts.
func (a *access) cloud(ctx context.Context, client *http.Client) (cloud.Configuration, string, error) {
	if a.metadataHost != "" {
		c, suffix, err := a.metadata(ctx, client)
		if err != nil {
			return c, "", fmt.Errorf("%s doesn't tell where the services of the cloud are: %w", a.metadataHost, err)
		}
		return c, suffix, nil
	}
	switch clouds()[a.environment] {
	case "government":
		return cloud.AzureGovernment, "core.usgovcloudapi.net", nil
	case "china":
		return cloud.AzureChina, "core.chinacloudapi.cn", nil
	}
	return cloud.AzurePublic, "core.windows.net", nil
}

func (a *access) metadata(ctx context.Context, client *http.Client) (c cloud.Configuration, suffix string, err error) {
	var told struct {
		Authentication struct {
			LoginEndpoint string   `json:"loginEndpoint"`
			Audiences     []string `json:"audiences"`
		} `json:"authentication"`
		ResourceManager string            `json:"resourceManager"`
		Suffixes        map[string]string `json:"suffixes"`
	}
	if err := fetch(ctx, client, http.MethodGet, "https://"+a.metadataHost+"/metadata/endpoints?api-version=2023-11-01", nil, &told); err != nil {
		return c, "", err
	}
	if suffix = told.Suffixes["storage"]; suffix == "" || len(told.Authentication.Audiences) == 0 {
		return c, "", errors.New("it names no domain for storage accounts or no audience for tokens")
	}
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: told.Authentication.LoginEndpoint,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: told.ResourceManager, Audience: told.Authentication.Audiences[0]},
		},
	}, suffix, nil
}

// fetch reads JSON.
func fetch(ctx context.Context, client *http.Client, method, address string, header http.Header, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return err
	}
	if header != nil {
		request.Header = header
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the answer is %s: %.500s", response.Status, content)
	}
	return json.Unmarshal(content, into)
}

// A kind of credentials: what it lacks, nil for nothing, and how it is made.
type kind struct {
	name string
	need []error
	make func() (azcore.TokenCredential, error)
}

// credential is of the first kind that lacks nothing.
func (a *access) credential(options policy.ClientOptions) (azcore.TokenCredential, error) {
	problems := []error{errors.New("No valid azure auth methods found.\n")}
	for _, k := range a.kinds(options) {
		lacks := errors.Join(k.need...)
		if lacks == nil {
			c, err := k.make()
			if err == nil {
				return c, nil
			}
			lacks = err
		}
		problems = append(problems, fmt.Errorf("- %s: %s", k.name, strings.ReplaceAll(lacks.Error(), "\n", ", ")))
	}
	return nil, errors.Join(problems...)
}

func need(there bool, format string, args ...any) error {
	if there {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func (a *access) kinds(options policy.ClientOptions) []kind {
	client, clientErr := a.either("client_id", a.client, a.clientFile)
	secret, secretErr := a.either("client_secret", a.secret, a.secretFile)
	token, tokenErr := a.either("oidc_token", a.token, a.tokenFile)
	asked := a.requestURL != "" && a.requestToken != ""
	tenant := need(a.tenant != "", "tenant_id isn't set")
	clientErr = errors.Join(clientErr, need(client != "", "client_id isn't set"))
	certificate, certificateErr := a.pkcs12()
	certificates := kind{"client certificate", []error{certificateErr}, func() (azcore.TokenCredential, error) {
		key, public, err := pkcs12.Decode(certificate, a.password)
		if err != nil {
			return nil, fmt.Errorf("the certificate can't be read: %w", err)
		}
		return azidentity.NewClientCertificateCredential(a.tenant, client, []*x509.Certificate{public}, key, &azidentity.ClientCertificateCredentialOptions{ClientOptions: options})
	}}
	if certificateErr == nil {
		certificates.need = append(certificates.need, tenant, clientErr)
	}
	return []kind{
		certificates,
		{"client secret", []error{secretErr, need(secret != "", "client_secret isn't set"), tenant, clientErr}, func() (azcore.TokenCredential, error) {
			return azidentity.NewClientSecretCredential(a.tenant, client, secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: options})
		}},
		{"Azure DevOps", []error{
			need(a.federated, "use_oidc isn't true"), need(a.connection != "", "ado_service_connection_id isn't set"),
			need(a.pipelines, "SYSTEM_OIDCREQUESTURI isn't set"), need(a.requestToken != "", "oidc_request_token isn't set"), tenant, clientErr,
		}, func() (azcore.TokenCredential, error) {
			return azidentity.NewAzurePipelinesCredential(a.tenant, client, a.connection, a.requestToken, &azidentity.AzurePipelinesCredentialOptions{ClientOptions: options})
		}},
		{"OpenID Connect", []error{
			need(a.federated, "use_oidc isn't true"), tokenErr,
			need(token != "" || asked, "there is neither oidc_token nor oidc_request_url with oidc_request_token"), tenant, clientErr,
		}, func() (azcore.TokenCredential, error) {
			return azidentity.NewClientAssertionCredential(a.tenant, client, func(ctx context.Context) (string, error) {
				if token != "" {
					return a.either("oidc_token", a.token, a.tokenFile) // tokens in files are renewed
				}
				return a.ask(ctx, options)
			}, &azidentity.ClientAssertionCredentialOptions{ClientOptions: options})
		}},
		{"managed identity", []error{need(a.managed, "use_msi isn't true")}, func() (azcore.TokenCredential, error) {
			o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
			if client != "" {
				o.ID = azidentity.ClientID(client)
			}
			if a.managedEndpoint != "" {
				if err := os.Setenv(managedVariable, a.managedEndpoint); err != nil { // the SDK looks nowhere else
					return nil, err
				}
			}
			return azidentity.NewManagedIdentityCredential(o)
		}},
		{"workload identity of AKS", []error{need(a.workload, "use_aks_workload_identity isn't true")}, func() (azcore.TokenCredential, error) {
			return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: options})
		}},
		{"Azure CLI", []error{need(a.cli, "use_cli is false"), a.program()}, func() (azcore.TokenCredential, error) {
			return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{Subscription: a.subscription, TenantID: a.tenant})
		}},
	}
}

const managedVariable = "MSI_ENDPOINT"

func (a *access) program() error {
	_, err := exec.LookPath("az")
	return need(err == nil, "there is no program az to log in with")
}

// either is a text or the content of a file. Where both are there they have to be the
// same.
func (a *access) either(name, text, file string) (string, error) {
	if file == "" {
		return text, nil
	}
	content, err := os.ReadFile(a.path(file))
	if err != nil {
		return "", fmt.Errorf("the file of %s can't be read: %w", name, err)
	}
	if text != "" && text != string(content) {
		return "", fmt.Errorf("%s and its file don't have the same content", name)
	}
	return string(content), nil
}

func (a *access) path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(a.dir, file)
}

// pkcs12 is the certificate with its key.
func (a *access) pkcs12() ([]byte, error) {
	if a.certificate == "" && a.certificateFile == "" {
		return nil, errors.New("client_certificate isn't set")
	}
	given, err := base64.StdEncoding.DecodeString(a.certificate)
	if err != nil {
		return nil, fmt.Errorf("client_certificate isn't base64: %w", err)
	}
	both, err := a.either("client_certificate", string(given), a.certificateFile)
	return []byte(both), err
}

// ask has the identity provider make a token, as GitHub's does.
func (a *access) ask(ctx context.Context, options policy.ClientOptions) (string, error) {
	to, err := url.Parse(a.requestURL)
	if err != nil {
		return "", errors.New("oidc_request_url isn't a URL")
	}
	query := to.Query()
	if !query.Has("audience") {
		audience := "api://AzureADTokenExchange"
		switch clouds()[a.environment] {
		case "government":
			audience += "USGov"
		case "china":
			audience += "China"
		}
		query.Set("audience", audience)
		to.RawQuery = query.Encode()
	}
	var told struct {
		Value string `json:"value"`
	}
	header := http.Header{"Authorization": {"Bearer " + a.requestToken}, "Accept": {"application/json; api-version=2.0"}, "Content-Type": {"application/json"}}
	if err := fetch(ctx, options.Transport.(*http.Client), http.MethodGet, to.String(), header, &told); err != nil {
		return "", fmt.Errorf("no token could be had from oidc_request_url: %w", err)
	}
	return told.Value, nil
}

// listKeys asks for an access key of the account.
func (a *access) listKeys(ctx context.Context, credential azcore.TokenCredential, options policy.ClientOptions) (string, error) {
	var told struct {
		Keys []struct {
			Value string `json:"value"`
		} `json:"keys"`
	}
	err := a.manage(ctx, credential, options, http.MethodPost, "listKeys", &told)
	var lack *lacking
	switch {
	case errors.As(err, &lack):
		return "", fmt.Errorf("the access key of the storage account can't be asked for: %w. Set it, or use_azuread_auth to do without the key", err)
	case err != nil:
		return "", fmt.Errorf("listing the access keys of the storage account: %w", err)
	case len(told.Keys) == 0:
		return "", errors.New("the storage account has no access keys: set use_azuread_auth")
	}
	return told.Keys[0].Value, nil
}

// blobEndpoint asks for the address of the account's blobs. Accounts with DNS zone
// endpoints have one that doesn't follow from their name.
func (a *access) blobEndpoint(ctx context.Context, credential azcore.TokenCredential, options policy.ClientOptions) (string, error) {
	var told struct {
		Properties struct {
			PrimaryEndpoints struct {
				Blob string `json:"blob"`
			} `json:"primaryEndpoints"`
		} `json:"properties"`
	}
	if err := a.manage(ctx, credential, options, http.MethodGet, "", &told); err != nil {
		return "", fmt.Errorf("looking up the blob endpoint of the storage account: %w", err)
	}
	endpoint := strings.TrimSuffix(told.Properties.PrimaryEndpoints.Blob, "/")
	// Requests have credentials in them, so they go nowhere without encryption.
	if at, err := url.Parse(endpoint); err != nil || at.Scheme != "https" || at.Host == "" {
		return "", fmt.Errorf("looking up the blob endpoint of the storage account: %q isn't an https address", endpoint)
	}
	return endpoint, nil
}

// lacking is an error about arguments that aren't set.
type lacking struct{ error }

// manage asks the resource manager about the storage account.
func (a *access) manage(ctx context.Context, credential azcore.TokenCredential, options policy.ClientOptions, method, action string, into any) error {
	subscription := a.subscription
	if _, cli := credential.(*azidentity.AzureCLICredential); cli && subscription == "" {
		out, err := exec.CommandContext(ctx, "az", "account", "show", "-o", "json").Output()
		var shown struct {
			ID string `json:"id"`
		}
		if err == nil {
			err = json.Unmarshal(out, &shown)
		}
		if err != nil {
			return fmt.Errorf("az doesn't tell the subscription: %w; set subscription_id", err)
		}
		subscription = shown.ID
	}
	if lacks := errors.Join(need(a.group != "", "resource_group_name isn't set"), need(subscription != "", "subscription_id isn't set")); lacks != nil {
		return &lacking{errors.New(strings.ReplaceAll(lacks.Error(), "\n", ", "))}
	}
	manager := options.Cloud.Services[cloud.ResourceManager]
	pipeline := runtime.NewPipeline("weir", "", runtime.PipelineOptions{
		PerRetry: []policy.Policy{runtime.NewBearerTokenPolicy(credential, []string{strings.TrimSuffix(manager.Audience, "/") + "/.default"}, nil)},
	}, &options)
	address := runtime.JoinPaths(manager.Endpoint, "subscriptions", url.PathEscape(subscription),
		"resourceGroups", url.PathEscape(a.group), "providers/Microsoft.Storage/storageAccounts", a.account)
	if action != "" {
		address += "/" + action
	}
	request, err := runtime.NewRequest(ctx, method, address+"?api-version=2023-05-01")
	if err != nil {
		return err
	}
	response, err := pipeline.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if !runtime.HasStatusCode(response, http.StatusOK) {
		return runtime.NewResponseError(response)
	}
	return runtime.UnmarshalAsJSON(response, into)
}
