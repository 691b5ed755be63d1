// Package cos tests weir and OpenTofu with states in the same bucket of Tencent's COS.
package cos

import (
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestEngines(t *testing.T) {
	cloud := testservers.NewTencent()
	engines.Run(t, engines.Place{
		Kind: "cos",
		Arguments: `
    bucket = "states-1250000000"
    prefix = "%s"
    region = "ap-guangzhou"
    secret_id = "key"
    secret_key = "secret"`,
		Env:     engines.Intercept(t, []string{"*.cos.ap-guangzhou.myqcloud.com", "tag.tencentcloudapi.com"}, cloud),
		Content: func(_ *testing.T, name string) []byte { return cloud.Object(name + "/terraform.tfstate") },
	})
}
