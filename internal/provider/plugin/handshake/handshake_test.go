package handshake

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	id, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	cert := base64.RawStdEncoding.EncodeToString(id.pair.Certificate[0])
	for line, want := range map[string]string{
		"1|5|unix|/tmp/s|grpc|\n":                         "5 /tmp/s",
		"1|6|tcp|127.0.0.1:7|grpc\r\n":                    "6 127.0.0.1:7",
		"1|6|unix|/tmp/s|grpc|" + cert + "|true\n":        "6 /tmp/s with a certificate",
		"1|6|unix|/tmp/s|grpc|" + cert + "==\n":           "6 /tmp/s with a certificate",
		"1|6|unix|/tmp/s|grpc|extra\n":                    "6 /tmp/s",
		"":                                                ErrLine.Error(),
		"this is no plugin\n":                             ErrLine.Error(),
		"a|b|c|d|e\n":                                     ErrLine.Error(),
		"2|6|unix|/tmp/s|grpc\n":                          "version 2 of the handshake",
		"1|4|unix|/tmp/s|grpc\n":                          `version "4" of the provider protocol`,
		"1|5|unix|/tmp/s|netrpc\n":                        "doesn't serve gRPC",
		"1|5|unix|/tmp/s\n":                               "doesn't serve gRPC",
		"1|5|pipe|/tmp/s|grpc\n":                          "network of unknown kind",
		"1|5|tcp|nowhere|grpc\n":                          "nowhere",
		"1|5|unix|/tmp/s|grpc|" + strings.Repeat("x", 60): "certificate can't be read",
		"1|5|unix|/tmp/s|grpc|" + strings.Repeat("%", 60): "certificate can't be read",
	} {
		s, err := Parse(line)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = string(rune('0'+s.Protocol)) + " " + s.Addr.String()
			if s.certificate != nil {
				got += " with a certificate"
			}
		}
		if !strings.Contains(got, want) || err == nil && got != want {
			t.Errorf("%q: %s", line, got)
		}
	}
	if _, err := Parse("hello"); !errors.Is(err, ErrLine) {
		t.Error(err)
	}
	s, _ := Parse("1|6|unix|/tmp/s|grpc|")
	if _, err := s.Dial(id); err == nil || !strings.Contains(err.Error(), "TF_DISABLE_PLUGIN_TLS") {
		t.Errorf("without the plugin's certificate: %v", err)
	}
}

// TestPieces: output is read whatever else its messages have.
func TestPieces(t *testing.T) {
	var m message
	if err := (codec{}).Unmarshal([]byte{0x08, 2, 0x12, 2, 'h', 'i', 0x18, 7, 0x22, 1, 'x'}, &m); err != nil || m.channel != 2 || string(m.data) != "hi" {
		t.Errorf("%v %+v", err, m)
	}
	for _, bad := range [][]byte{{0x08}, {0x12, 9, 'x'}, {0xff}, {0x1a, 200}} {
		if err := (codec{}).Unmarshal(bad, &m); err == nil {
			t.Errorf("% x is read", bad)
		}
	}
}
