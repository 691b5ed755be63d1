package environment

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/module/fetch"
	"weir.dev/weir/internal/state/storage/gcs"
	"weir.dev/weir/internal/state/storage/s3"
)

// Bucket opens the bucket that a module's source names, by the credentials that its
// backend would find.
func (d *Place) Bucket(p fetch.Place) (fetch.Objects, error) {
	text := func(s *schema.Block, values map[string]string) map[string]cty.Value {
		config := s.EmptyValue().AsValueMap()
		for name, v := range values {
			if v != "" {
				config[name] = cty.StringVal(v)
			}
		}
		return config
	}
	if p.Kind == "gcs" {
		config := text(gcs.Schema(), map[string]string{"bucket": p.Bucket})
		objects, diags := gcs.OpenObjects(cty.ObjectVal(config), d.StorageEnv())
		return objects, diags.Err()
	}
	s := s3.Schema()
	config := text(s, map[string]string{
		"bucket": p.Bucket, "region": p.Region, "profile": p.Profile, "access_key": p.AccessKey, "secret_key": p.SecretKey, "token": p.Token,
	})
	for _, name := range []string{"skip_credentials_validation", "skip_requesting_account_id", "skip_region_validation"} {
		config[name] = cty.True
	}
	if p.Endpoint != "" {
		all := map[string]cty.Value{}
		for name := range s.Attributes["endpoints"].Nested.Attributes {
			all[name] = cty.NullVal(cty.String)
		}
		all["s3"] = cty.StringVal(p.Endpoint)
		config["endpoints"], config["use_path_style"] = cty.ObjectVal(all), cty.True
	}
	objects, diags := s3.OpenObjects(cty.ObjectVal(config), d.StorageEnv())
	return objects, diags.Err()
}
