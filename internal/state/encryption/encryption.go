// Package encryption encrypts states and plans before they are stored, and decrypts them, in
// OpenTofu's format.
//
// It owns the encryption block: its decoding and merging, key providers, the methods, their
// chains of fallbacks, and the JSON around what is encrypted. It doesn't know where the bytes
// are kept (package storage), what they mean (statefile, planfile), how expressions get their
// values (an Evaluate does), and how commands are run (a Run does).
//
// No message of it has a passphrase, a key or a part of what was opened.
package encryption

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
)

// Evaluate gives the value of an expression, which may refer to the input
// variables and locals of the root module, and to vars. The value is wholly
// known and has no marks. Diagnostics have no values in them: everything that
// an encryption block names may be a secret.
type Evaluate func(expr hcl.Expression, vars map[string]cty.Value) (cty.Value, diag.List)

// Run runs a command with the given input and returns what it wrote. When the
// command fails the error says how, with what it wrote to its standard error.
type Run func(command []string, input []byte) (output []byte, err error)

// An Encryption has the targets of an encryption block. The zero value, and
// nil, encrypt nothing.
type Encryption struct {
	state, plan   *Target
	remoteDefault *Target
	remote        map[string]*Target
}

// New checks a configuration, nil for none, as far as that is possible without
// anything to encrypt or decrypt: expressions are evaluated and external key
// providers are run, and services aren't asked.
func New(c *Config, evaluate Evaluate, run Run, services Services) (*Encryption, diag.List) {
	if c == nil {
		return nil, nil
	}
	var diags diag.List
	for _, m := range c.methods {
		if m.typ == unencrypted {
			diags.Add(Plain.Warning(c.rng, "Method unencrypted is present in configuration. This is a security risk and should only be enabled during migrations."))
			break
		}
	}
	made := &maker{config: c, evaluate: evaluate, run: run, services: services, external: map[*block]externalKeys{}}
	e := &Encryption{remote: map[string]*Target{}}
	target := func(t *target, name string) *Target {
		if t == nil {
			return nil
		}
		made, more := made.target(t, name)
		diags.Append(more)
		return made
	}
	e.state = target(c.state, "state")
	e.plan = target(c.plan, "plan")
	e.remoteDefault = target(c.remoteDefault, "remote.default")
	for _, r := range c.remotes {
		e.remote[r.name] = target(r.target, "remote.remote_state_datasource."+r.name)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return e, diags
}

// State is the target for states.
func (e *Encryption) State() State {
	if e == nil {
		return State{}
	}
	return State{e.state}
}

// Plan is the target for saved plans.
func (e *Encryption) Plan() Plan {
	if e == nil {
		return Plan{}
	}
	return Plan{e.plan}
}

// RemoteState is the target for what the data source terraform_remote_state
// reads. name is the data source's name with its instance key, after the path
// of its module without the first "module.", as in net["a"].vpc.
func (e *Encryption) RemoteState(name string) State {
	if e == nil {
		return State{}
	}
	if t, ok := e.remote[name]; ok {
		return State{t}
	}
	return State{e.remoteDefault}
}

// A Target seals with its first method and opens with each of them in turn. Its
// methods may be called at the same time.
type Target struct {
	name    string
	maker   *maker
	methods []*block // never empty
	cache   cache
}

// target checks a target and its methods.
func (m *maker) target(t *target, name string) (*Target, diag.List) {
	var diags diag.List
	made := &Target{name: name, maker: m}
	enforced := t.enforced
	for ; t != nil; t = t.fallback {
		method, more := m.config.method(t)
		diags.Append(more)
		if method != nil {
			made.methods = append(made.methods, method)
		}
		if method != nil && enforced && method.typ == unencrypted {
			diags.Add(Plain.As("Unencrypted method is forbidden").Error(t.rng, "Unable to use unencrypted method since the enforced flag is set. Remove the flag as long as the method is needed, as a method or as a fallback."))
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	if _, _, more := m.method(made.methods[0], checking, nil); more.HasErrors() {
		return nil, append(diags, more...)
	}
	return made, diags
}

// encrypts reports whether what is sealed becomes unreadable.
func (t *Target) encrypts() bool { return t != nil && t.methods[0].typ != unencrypted }

// seal encrypts bytes.
func (t *Target) seal(plain []byte) (payload, error) {
	m, meta, err := t.cache.sealing(func() (method, map[string][]byte, error) {
		m, meta, diags := t.maker.method(t.methods[0], sealing, nil)
		return m, meta, diags.Err()
	})
	if err == nil {
		var data []byte
		if data, err = m.seal(plain); err == nil {
			return payload{Meta: meta, Data: data, Version: version}, nil
		}
	}
	return payload{}, fmt.Errorf("encryption failed for %s: %w", t.name, err)
}

// clear says of bytes that aren't encrypted whether they may be so, and whether
// that is to change.
func (t *Target) clear() (migrating bool, err error) {
	for i, m := range t.methods {
		if m.typ == unencrypted {
			return i > 0, nil
		}
	}
	return false, errors.New(`encountered unencrypted payload without unencrypted method configured. To encrypt what isn't encrypted yet, add a method "unencrypted" as a fallback for the time being`)
}

// open decrypts a payload with the first method that can. migrating: that isn't
// the method that seals.
func (t *Target) open(p payload) (plain []byte, migrating bool, err error) {
	if p.Version != version {
		return nil, false, fmt.Errorf("invalid encrypted payload version: %s != %s", p.Version, version)
	}
	failed := []error{errors.New("decryption failed for all provided methods")}
	for i, b := range t.methods {
		if b.typ == unencrypted {
			continue
		}
		m, err := t.cache.opening(i, p.Meta, func() (method, error) {
			m, _, diags := t.maker.method(b, opening, p.Meta)
			return m, diags.Err()
		})
		if err == nil {
			plain, err = m.open(p.Data)
		}
		if err == nil {
			return plain, i > 0, nil
		}
		failed = append(failed, fmt.Errorf("attempted decryption failed for %s: decryption failed: %w", t.name, err))
	}
	return nil, false, errors.Join(failed...)
}
