package telemetry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"weir.dev/weir/internal/core/trace"
)

// settings are what the environment says of this run. A signal that isn't wanted is nil.
type settings struct {
	traces, metrics *sender
	parent          parent
	vars            map[string]string
}

// A parent is the span that the run is a part of; zero for none.
type parent struct {
	trace traceID
	span  trace.SpanID
}

// read reads the variables that the specification of OpenTelemetry has for programs and
// for OTLP. Traces and metrics are wanted by name, or where a server for them is named.
func read(environ []string) (settings, error) {
	s := settings{vars: map[string]string{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "OTEL_") || name == "TRACEPARENT" {
			s.vars[name] = strings.TrimSpace(value)
		}
	}
	if len(s.vars) == 0 || strings.EqualFold(s.vars["OTEL_SDK_DISABLED"], "true") {
		return s, nil
	}
	var err error
	if s.traces, err = s.signal("TRACES"); err == nil {
		s.metrics, err = s.signal("METRICS")
	}
	sampled := true
	s.parent, sampled = parseParent(s.vars["TRACEPARENT"])
	if !sampled || s.vars["OTEL_TRACES_SAMPLER"] == "always_off" {
		s.traces = nil
	}
	return s, err
}

// signal is how traces or metrics are sent.
func (s settings) signal(name string) (*sender, error) {
	of := func(what string) string {
		return cmp.Or(s.vars["OTEL_EXPORTER_OTLP_"+name+"_"+what], s.vars["OTEL_EXPORTER_OTLP_"+what])
	}
	switch exporter := s.vars["OTEL_"+name+"_EXPORTER"]; {
	case exporter == "none", exporter == "" && of("ENDPOINT") == "":
		return nil, nil
	case exporter != "" && exporter != "otlp":
		return nil, fmt.Errorf("OTEL_%s_EXPORTER is %q; weir has otlp and none", name, exporter)
	}
	out := &sender{signal: strings.ToLower(name), timeout: 10 * time.Second, packed: of("COMPRESSION") == "gzip"}
	switch protocol := cmp.Or(of("PROTOCOL"), "http/protobuf"); protocol {
	case "grpc":
		out.grpc = true
	case "http/protobuf":
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; weir speaks http/protobuf and grpc", protocol)
	}
	if ms, err := strconv.Atoi(of("TIMEOUT")); err == nil && ms > 0 {
		out.timeout = time.Duration(ms) * time.Millisecond
	}
	var err error
	if out.url, err = s.endpoint(name, out.grpc, strings.EqualFold(of("INSECURE"), "true")); err != nil {
		return nil, err
	}
	if out.headers, err = pairs(of("HEADERS")); err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	out.tls, err = certificates(of("CERTIFICATE"), of("CLIENT_CERTIFICATE"), of("CLIENT_KEY"))
	return out, err
}

// endpoint is where a signal goes: a variable of its own says that as it is, the one for
// all of them is what the paths of HTTP are added to.
func (s settings) endpoint(name string, grpc, insecure bool) (*url.URL, error) {
	own, all := s.vars["OTEL_EXPORTER_OTLP_"+name+"_ENDPOINT"], s.vars["OTEL_EXPORTER_OTLP_ENDPOINT"]
	variable, text := "OTEL_EXPORTER_OTLP_"+name+"_ENDPOINT", own
	if own == "" {
		variable, text = "OTEL_EXPORTER_OTLP_ENDPOINT", all
	}
	switch {
	case text == "" && grpc:
		text = "http://localhost:4317"
	case text == "":
		text = "http://localhost:4318"
	case grpc && !strings.Contains(text, "://") && insecure:
		text = "http://" + text
	case grpc && !strings.Contains(text, "://"):
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s has to be an http or https URL", variable)
	}
	if !grpc && own == "" {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/v1/" + strings.ToLower(name)
	}
	return u, nil
}

// pairs reads NAME=VALUE, with commas between, of which values are escaped as in URLs.
func pairs(text string) ([][2]string, error) {
	var list [][2]string
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("the part number %d isn't NAME=VALUE", len(list)+1) // it may be a secret
		}
		list = append(list, [2]string{strings.TrimSpace(name), value})
	}
	return list, nil
}

// certificates are whom to trust and who asks; nil leaves that to the system.
func certificates(authority, certificate, key string) (*tls.Config, error) {
	if authority == "" && certificate == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificates", authority)
		}
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// parseParent reads the header that W3C's Trace Context has. Anything that can't be read is
// none; sampled is false where the parent isn't looked at.
func parseParent(text string) (p parent, sampled bool) {
	parts := strings.Split(text, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || len(parts[1]) != 32 || len(parts[2]) != 16 || len(parts[3]) != 2 {
		return parent{}, true
	}
	flags, err := hex.DecodeString(parts[3])
	_, err1 := hex.Decode(p.trace[:], []byte(parts[1]))
	_, err2 := hex.Decode(p.span[:], []byte(parts[2]))
	if err != nil || err1 != nil || err2 != nil || p.trace == (traceID{}) || p.span == (trace.SpanID{}) {
		return parent{}, true
	}
	return p, flags[0]&1 == 1
}

// about is what is said of the process: what the environment does, and a name.
func (s settings) about(version string) []trace.Fact {
	facts := []trace.Fact{{Name: "service.name", Value: "weir"}, {Name: "service.version", Value: version}}
	set := func(name, value string) {
		for i := range facts {
			if facts[i].Name == name {
				facts[i].Value = value
				return
			}
		}
		facts = append(facts, trace.Fact{Name: name, Value: value})
	}
	list, err := pairs(s.vars["OTEL_RESOURCE_ATTRIBUTES"])
	if err == nil { // else the specification says to leave it
		for _, pair := range list {
			set(pair[0], pair[1])
		}
	}
	if name := s.vars["OTEL_SERVICE_NAME"]; name != "" {
		set("service.name", name)
	}
	return facts
}
