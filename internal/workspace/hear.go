package workspace

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/provider/providerproxy"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/workspace/orphans"
)

// guard is how the providers of tests are guarded: nil where the program can't be a
// guard, and where states are encrypted, because answers aren't.
func (t Tests) guard() (*plugin.Guard, diag.List) {
	if !providerproxy.Supported || t.Dir.Place.Executable == "" {
		return nil, nil
	}
	sealed, diags := t.Dir.Settings.Encryption()
	if diags.HasErrors() || sealed != nil && sealed.State().Encrypts() {
		return nil, diags
	}
	var own [8]byte
	if _, err := io.ReadFull(t.Dir.Place.Random, own[:]); err != nil {
		return nil, diags
	}
	dir, err := filepath.Abs(filepath.Join(t.Dir.Place.DataDir(), "tests", orphans.GuardDir))
	if err != nil {
		return nil, diags
	}
	return &plugin.Guard{Program: t.Dir.Place.Executable, Hold: filepath.Join(dir, hex.EncodeToString(own[:])+"-")}, diags
}

// hear resolves what the process that a state is left of was about to create, by what the
// guards of its providers have heard.
func (t Tests) hear(ctx context.Context, s *orphans.State, catalog provider.Catalog) diag.List {
	err := s.Await(ctx, func() {
		t.Dir.Place.Notice("Waiting for a provider that is still answering a test which was killed...")
	})
	if err != nil {
		return plugin.Unavailable.As("Failed to wait for a provider").List("Waiting for what a provider answers to the test %s: %s.", s.File, diag.Cause(err))
	}
	var diags diag.List
	found := map[addr.Object]*state.Object{}
	var settled []addr.Object
	for _, doubt := range s.InDoubt() {
		data, known, err := s.Answer(doubt.Object.Instance)
		if err != nil {
			diags.Add(diag.Unanswered.New(diag.Error, "The provider's answer for %s can't be read: %s.", doubt.Object, diag.Cause(err)))
		}
		if !known {
			continue
		}
		var o *state.Object
		if data != nil {
			var more diag.List
			if o, more = answered(ctx, catalog, doubt, data); more.HasErrors() {
				diags.Append(more)
				continue
			}
		}
		if o != nil {
			o.Dependencies = doubt.Needs
			found[doubt.Object] = o
		}
		settled = append(settled, doubt.Object)
	}
	if len(settled) == 0 {
		return diags
	}
	if err := s.Adopt(ctx, found, settled); err != nil {
		diags.Add(orphans.NotKept.New(diag.Error, "The answers of providers can't be written to %s: %s.", s.Place(), diag.Cause(err)))
	}
	return diags
}

// answered is what exists of an object by the answer of its provider, nil for
// nothing.
func answered(ctx context.Context, catalog provider.Catalog, doubt journal.Operation, data []byte) (*state.Object, diag.List) {
	i, source := doubt.Object.Instance, doubt.Provider.Provider
	schemas, diags := catalog.Schemas(ctx, source)
	if diags.HasErrors() {
		return nil, diags
	}
	s := schemas.Resource(addr.Managed, i.Name.Type)
	if s == nil {
		return nil, diag.Unanswered.List("%s was created by %s, which has no such type any more.", doubt.Object, source)
	}
	answer := plugin.Answer(data, fmt.Sprint(source), s)
	if answer.New == cty.NilVal {
		return nil, answer.Diags
	}
	if answer.New.IsNull() {
		return nil, nil
	}
	o, err := lifecycle.Subject{Addr: i, Source: source, Schema: s}.Store(lifecycle.Object{
		Value: cty.UnknownAsNull(answer.New), Private: answer.Private, Identity: answer.Identity, Tainted: true,
	}, doubt.Provider, nil)
	if err != nil {
		return nil, diag.Unanswered.List("The answer of %s for %s can't be stored: %s.", source, doubt.Object, err)
	}
	return o, nil
}
