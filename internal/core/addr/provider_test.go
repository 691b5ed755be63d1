package addr

import "testing"

// Terraform takes underscores within namespaces since 1.16, OpenTofu doesn't.
func TestUnderscoresInNamespaces(t *testing.T) {
	for source, want := range map[string]bool{
		"a_b/x": true, "a__b/x": true, "a-_b/x": true, "r.example/a_b/x": true,
		"_a/x": false, "a_/x": false, "_/x": false, "a/x_y": false,
	} {
		if _, err := Terraform.ParseSource(source); (err == nil) != want {
			t.Errorf("%s in Terraform mode: %v", source, err)
		}
		if _, err := OpenTofu.ParseSource(source); err == nil {
			t.Errorf("%s is accepted in OpenTofu mode", source)
		}
	}
}
