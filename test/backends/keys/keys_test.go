// Package keys tests that weir and OpenTofu decrypt each other's states and plans, with keys
// of the same services.
package keys

import (
	"net/http/httptest"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestAmazon(t *testing.T) {
	service := &testservers.Keys{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	engines.Keys(t, "aws_kms", `
      kms_key_id = "`+testservers.AmazonKMS+`"
      key_spec   = "AES_256"
      region     = "us-east-1"
      skip_credentials_validation = true
      skip_requesting_account_id  = true
`, []string{"AWS_ENDPOINT_URL_KMS=" + server.URL, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}, service.Fail)
}

func TestGoogle(t *testing.T) {
	service := &testservers.Keys{}
	engines.Keys(t, "gcp_kms", `
      kms_encryption_key = "`+testservers.GoogleKMS+`"
      key_length   = 32
      access_token = "token"
`, engines.Intercept(t, []string{"cloudkms.googleapis.com"}, service), service.Fail)
}

func TestAzure(t *testing.T) {
	for name, more := range map[string]string{"asymmetric": "", "symmetric": "symmetric = true\nsymmetric_key_size = 256\n"} {
		t.Run(name, func(t *testing.T) {
			service := &testservers.Keys{}
			engines.Keys(t, "azure_vault", `
      vault_uri      = "https://example.vault.azure.net/"
      vault_key_name = "`+testservers.OtherKey+`"
      key_length     = 32
      tenant_id      = "tenant"
      client_id      = "client"
      client_secret  = "secret"
      use_cli        = false
`+more, engines.Intercept(t, []string{"login.microsoftonline.com", "example.vault.azure.net"}, service), service.Fail)
		})
	}
}

func TestBao(t *testing.T) {
	service := &testservers.Keys{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	engines.Keys(t, "openbao", `key_name = "`+testservers.OtherKey+`"`, []string{"BAO_ADDR=" + server.URL, "BAO_TOKEN=" + testservers.BaoToken}, service.Fail)
}
