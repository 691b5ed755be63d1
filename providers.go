package weir

import (
	"fmt"
	"net"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/workspace/environment"
)

// A ProviderSource is a place that providers come from. [Mirror], [NetworkMirror],
// [Registries], [Attach] and [InProcess] make one.
type ProviderSource struct {
	address string // of one provider; empty for all
	method  *cliconfig.Method
	attach  *Attachment
	inside  *Provider
}

// Mirror is a directory with packages of providers, in the layout of
// "weir providers mirror".
func Mirror(dir string) ProviderSource {
	return ProviderSource{method: &cliconfig.Method{Kind: cliconfig.FilesystemMirror, Location: dir, DownloadRetries: -1}}
}

// NetworkMirror is a server with packages of providers, by its https URL.
func NetworkMirror(url string) ProviderSource {
	return ProviderSource{method: &cliconfig.Method{Kind: cliconfig.NetworkMirror, Location: url, DownloadRetries: -1}}
}

// Registries are the providers' own registries.
func Registries() ProviderSource {
	return ProviderSource{method: &cliconfig.Method{Kind: cliconfig.Direct, DownloadRetries: -1}}
}

// An Attachment is where a provider listens that runs already, for example in this
// process: servers of terraform-plugin-go in debug mode tell it.
type Attachment struct {
	Network, Address string // as for [net.Dial]: unix or tcp
	Protocol         int    // 5 or 6
}

// Attach is a provider that runs already.
func Attach(address string, to Attachment) ProviderSource {
	return ProviderSource{address: address, attach: &to}
}

// InProcess is a provider that is part of this program.
func InProcess(address string, p *Provider) ProviderSource {
	return ProviderSource{address: address, inside: p}
}

// supply adds sources of providers to the options of an operation.
func supply(o *environment.Options, sources []ProviderSource) error {
	var methods []cliconfig.Method
	o.Inside, o.Attached = map[addr.Provider]plugin.Builtin{}, map[addr.Provider]plugin.Reattach{}
	for _, s := range sources {
		if s.method != nil {
			methods = append(methods, *s.method)
			continue
		}
		p, err := o.Dialect.Registry().ParseProvider(s.address)
		if err != nil {
			return fmt.Errorf("provider %q: %w", s.address, err)
		}
		switch {
		case s.attach != nil:
			to, err := s.attach.resolve()
			if err != nil {
				return fmt.Errorf("provider %q: %w", s.address, err)
			}
			o.Attached[p] = to
		case s.inside != nil:
			if o.Inside[p], err = s.inside.start(); err != nil {
				return fmt.Errorf("provider %q: %w", s.address, err)
			}
		default:
			return fmt.Errorf("a ProviderSource without content")
		}
	}
	if methods != nil {
		o.Installation = &cliconfig.Installation{Methods: methods}
	}
	return nil
}

func (a Attachment) resolve() (r plugin.Reattach, err error) {
	r.Protocol = a.Protocol
	switch {
	case a.Protocol != 5 && a.Protocol != 6:
		err = fmt.Errorf("protocol %d; 5 and 6 are supported", a.Protocol)
	case a.Network == "unix":
		r.Addr, err = net.ResolveUnixAddr("unix", a.Address)
	case a.Network == "tcp":
		r.Addr, err = net.ResolveTCPAddr("tcp", a.Address)
	default:
		err = fmt.Errorf("network %q; unix and tcp are supported", a.Network)
	}
	return r, err
}
