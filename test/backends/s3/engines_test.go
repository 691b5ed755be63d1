package s3

import (
	"fmt"
	"io"
	"testing"

	"weir.dev/weir/test/backends/engines"
)

// TestEngines has engines of two kinds on the same states, with each kind of lock.
func TestEngines(t *testing.T) {
	for name, locks := range map[string]string{
		"lock file": "use_lockfile = true",
		"table":     `dynamodb_table = "locks"`,
		"both":      "use_lockfile = true\n dynamodb_table = \"locks\"",
	} {
		t.Run(name, func(t *testing.T) {
			bucket, objects := gateway(t)
			engines.Run(t, engines.Place{
				Kind: "s3",
				Arguments: fmt.Sprintf(`
    bucket = "states"
    key    = "%%s.tfstate"
    region = "eu-central-1"
    endpoints = { s3 = %q, dynamodb = %q }
    use_path_style = true
    skip_credentials_validation = true
    skip_requesting_account_id = true
    %s`, bucket, tables(t), locks),
				Env: []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true"},
				Content: func(t *testing.T, name string) []byte {
					object, err := objects.GetObject("states", name+".tfstate", nil)
					do(t, err)
					content, err := io.ReadAll(object.Contents)
					do(t, err)
					return content
				},
			})
		})
	}
}
