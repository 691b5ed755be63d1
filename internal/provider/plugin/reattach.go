package plugin

import (
	"encoding/json"
	"fmt"
	"net"

	"weir.dev/weir/internal/core/addr"
)

// ReattachEnv is the environment variable that names running plugins.
const ReattachEnv = "TF_REATTACH_PROVIDERS"

// A Reattach is a plugin that somebody else runs, in a debugger for example.
// It is never installed, locked or stopped.
type Reattach struct {
	Addr     net.Addr
	Protocol int // 5 or 6
}

// ParseReattach reads the value of ReattachEnv; it is empty for none.
func ParseReattach(text string, registry addr.Registry) (map[addr.Provider]Reattach, error) {
	if text == "" {
		return nil, nil
	}
	var entries map[string]struct {
		Protocol        string
		ProtocolVersion int
		Addr            struct{ Network, String string }
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s isn't the JSON that a provider prints in debug mode: %w", ReattachEnv, err)
	}
	out := make(map[addr.Provider]Reattach, len(entries))
	for source, e := range entries {
		p, err := registry.ParseProvider(source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ReattachEnv, err)
		}
		r := Reattach{Protocol: e.ProtocolVersion}
		switch e.ProtocolVersion {
		case 0:
			r.Protocol = 5
		case 5, 6:
		default:
			return nil, fmt.Errorf("%s: %s has protocol version %d; 5 and 6 are supported", ReattachEnv, source, e.ProtocolVersion)
		}
		if e.Protocol != "" && e.Protocol != "grpc" {
			return nil, fmt.Errorf("%s: %s serves %q; only grpc is supported", ReattachEnv, source, e.Protocol)
		}
		switch e.Addr.Network {
		case "unix":
			r.Addr, err = net.ResolveUnixAddr("unix", e.Addr.String)
		case "tcp":
			r.Addr, err = net.ResolveTCPAddr("tcp", e.Addr.String)
		default:
			err = fmt.Errorf("unknown network %q; it is unix or tcp", e.Addr.Network)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the address of %s: %w", ReattachEnv, source, err)
		}
		out[p] = r
	}
	return out, nil
}
