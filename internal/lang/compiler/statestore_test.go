package compiler

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
)

// TestStateStore compiles state_store blocks, which only Terraform has.
func TestStateStore(t *testing.T) {
	const (
		required = "required_providers {\n s = { source = \"x/store\" }\n }\n"
		store    = "state_store \"s_bucket\" {\n name = var.n\n provider \"s\" {\n region = \"eu\"\n }\n }\n"
	)
	for name, tt := range map[string]struct {
		text    string
		dialect dialect.Dialect
		want    string // the summary of the error
	}{
		"right":            {required + store, dialect.Terraform, ""},
		"OpenTofu":         {required + store, dialect.OpenTofu, "Unsupported block type"},
		"not required":     {store, dialect.Terraform, "Missing entry in required_providers"},
		"twice":            {required + store + store, dialect.Terraform, "Duplicate state_store configuration"},
		"a backend too":    {required + store + "backend \"local\" {}\n", dialect.Terraform, "Both a state store and another backend are present"},
		"beside a cloud":   {required + "cloud {}\n" + store, dialect.Terraform, "Both a state store and another backend are present"},
		"no provider":      {required + "state_store \"s_bucket\" {}\n", dialect.Terraform, "Missing provider block"},
		"two providers":    {required + "state_store \"s_bucket\" {\nprovider \"s\" {}\nprovider \"s\" {}\n}\n", dialect.Terraform, "Duplicate provider block"},
		"unnamed provider": {required + "state_store \"s_bucket\" {\nprovider {}\n}\n", dialect.Terraform, "Missing name for provider"},
	} {
		t.Run(name, func(t *testing.T) {
			source, diags := module.Load(module.Memory{"main.tf": []byte("terraform {\n" + tt.text + "}\nvariable \"n\" {}\n")}, ".", tt.dialect)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			prog, diags := Compile(source)
			if tt.want != "" {
				if len(diags) != 1 || !strings.HasPrefix(diags[0].Summary, tt.want) || diags[0].Subject == nil {
					t.Errorf("got %v", diags)
				}
				return
			}
			b := prog.Backend
			if diags.HasErrors() || b == nil || b.Store == nil || b.Type != "s_bucket" || b.Store.Name != "s" || b.Store.Provider.String() != "registry.terraform.io/x/store" {
				t.Fatalf("%v %+v", diags, b)
			}
			own, _ := b.Config.JustAttributes()
			of, _ := b.Store.Config.JustAttributes()
			if len(own) != 1 || own["name"] == nil || len(of) != 1 || of["region"] == nil || len(b.Config.Refs) != 1 {
				t.Errorf("arguments %v %v, references %v", own, of, b.Config.Refs)
			}
		})
	}
}
