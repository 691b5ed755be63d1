// Package kms requests encryption keys of states from AWS, Azure, Google Cloud, OpenBao
// or Vault.
//
// It owns what is asked of them, and what is kept beside a state to find its key again, which
// is what OpenTofu keeps. It doesn't encrypt anything, and leaves credentials to the backends
// of the same services.
package kms

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage"
)

// All are the services by the names of their key providers.
func All(env storage.Env) encryption.Services {
	open := func(f func(cty.Value, storage.Env) (encryption.Keeper, error)) func(cty.Value) (encryption.Keeper, error) {
		return func(config cty.Value) (encryption.Keeper, error) { return f(config, env) }
	}
	return encryption.Services{
		"aws_kms":     {Schema: amazonSchema, Blocks: []string{"endpoints"}, Open: open(openAmazon)},
		"azure_vault": {Schema: azureSchema, Open: open(openAzure)},
		"gcp_kms":     {Schema: googleSchema, Open: open(openGoogle)},
		"openbao":     {Schema: baoSchema, Open: open(openBao)},
	}
}

// part is a schema with some of the attributes of another one, and more.
func part(of *schema.Block, names []string, more map[string]*schema.Attribute) *schema.Block {
	all := maps.Clone(more)
	for _, name := range names {
		all[name] = of.Attributes[name]
	}
	return &schema.Block{Attributes: all}
}

// whole is a configuration of a schema with those attributes that another one has too.
func whole(of *schema.Block, config cty.Value) cty.Value {
	all := of.EmptyValue().AsValueMap()
	for name, v := range config.AsValueMap() {
		if a := of.Attributes[name]; a != nil && !v.IsNull() {
			all[name] = v
		}
	}
	return cty.ObjectVal(all)
}

func text(config cty.Value, name string) string {
	if v := config.GetAttr(name); !v.IsNull() {
		return v.AsString()
	}
	return ""
}

// number is a whole number that isn't negative, 0 where it isn't set.
func number(config cty.Value, name string) (int, error) {
	v := config.GetAttr(name)
	if v.IsNull() {
		return 0, nil
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != 0 || n < 0 || n > 1<<20 {
		return 0, fmt.Errorf("%s must be a whole number that isn't negative", name)
	}
	return int(n), nil
}

// random is a new key.
func random(size int) []byte {
	key := make([]byte, size)
	rand.Read(key) // never fails
	return key
}

// readMeta reads what finds a key again.
func readMeta(text []byte, into any, there func() bool) error {
	if err := json.Unmarshal(text, into); err != nil || !there() {
		return errors.New("the data beside it doesn't lead to a key: was it encrypted with another kind of key provider?")
	}
	return nil
}

func problem(diags diag.List) error {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return fmt.Errorf("%s: %s", d.Summary, d.Detail)
		}
	}
	return nil
}
