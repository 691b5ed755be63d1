package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"weir.dev/weir/internal/provider/plugin/tfplugin5"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// TestProtocolsDiffer holds the two contracts to what conn5 makes of them:
// every message that a client sends or gets has the same fields under the
// same numbers, except for those that it translates.
func TestProtocolsDiffer(t *testing.T) {
	five := tfplugin5.File_tfplugin5_proto.Services().ByName("Provider").Methods()
	six := tfplugin6.File_tfplugin6_proto.Services().ByName("Provider").Methods()
	if five.Len()+len(stateStoreCalls) != six.Len() {
		t.Errorf("protocol 5 has %d methods and 6 has %d", five.Len(), six.Len())
	}
	var got []string
	seen := make(map[protoreflect.FullName]bool)
	for i := range six.Len() {
		m := six.Get(i)
		if slices.Contains(stateStoreCalls, string(m.Name())) {
			continue
		}
		full := fmt.Sprintf("/tfplugin6.Provider/%s", m.Name())
		old := five.ByName(protoreflect.Name(strings.TrimPrefix(method5(full), "/tfplugin5.Provider/")))
		if old == nil {
			t.Errorf("%s has no counterpart %q", full, method5(full))
			continue
		}
		got = compareMessages(got, seen, old.Input(), m.Input())
		got = compareMessages(got, seen, old.Output(), m.Output())
	}
	slices.Sort(got)
	want := []string{
		"ClientCapabilities.3: none, store_planned_private bool", // providers of protocol 5 skip it
		"ClientCapabilities.4: none, computed_blocks_allowed bool",
		"GetMetadata.Response.8: actions list of message, none", // not asked for
		"GetMetadata.Response.9: none, actions list of message",
		"GetProviderSchema.Response.10: none, state_store_schemas map to message", // protocol 5 has none
		"PlanResourceChange.Request.9: none, planned_private bytes",               // as above
		"Schema.Attribute.10: write_only bool, nested_type message",
		"Schema.Attribute.11: deprecation_message string, write_only bool",
		"Schema.Attribute.12: none, deprecation_message string",
		"Schema.Block.8: none, computed bool",                              // protocol 5 has no computed blocks
		"ValidateProviderConfig.Response.1: prepared_config message, none", // not used
	}
	if !slices.Equal(got, want) {
		t.Errorf("differences:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// stateStoreCalls are the calls that protocol 5 lacks: it has no schemas of state stores.
var stateStoreCalls = []string{"ValidateStateStoreConfig", "ConfigureStateStore", "ReadStateBytes", "WriteStateBytes",
	"LockState", "UnlockState", "GetStates", "DeleteState"}

func compareMessages(out []string, seen map[protoreflect.FullName]bool, five, six protoreflect.MessageDescriptor) []string {
	if seen[six.FullName()] {
		return out
	}
	seen[six.FullName()] = true
	numbers := make(map[protoreflect.FieldNumber]bool)
	for _, d := range []protoreflect.MessageDescriptor{five, six} {
		for i := range d.Fields().Len() {
			numbers[d.Fields().Get(i).Number()] = true
		}
	}
	for n := range numbers {
		a, b := five.Fields().ByNumber(n), six.Fields().ByNumber(n)
		if x, y := fieldText(a), fieldText(b); x != y {
			out = append(out, fmt.Sprintf("%s.%d: %s, %s", strings.TrimPrefix(string(six.FullName()), "tfplugin6."), n, x, y))
			continue
		}
		if a.Kind() == protoreflect.MessageKind {
			out = compareMessages(out, seen, a.Message(), b.Message())
		}
	}
	return out
}

func fieldText(f protoreflect.FieldDescriptor) string {
	if f == nil {
		return "none"
	}
	text := string(f.Name()) + " "
	switch {
	case f.IsMap():
		text += "map to "
		f = f.MapValue()
	case f.IsList():
		text += "list of "
	}
	text += f.Kind().String()
	if f.Kind() == protoreflect.EnumKind {
		for i := range f.Enum().Values().Len() {
			text += fmt.Sprintf(" %d", f.Enum().Values().Get(i).Number())
		}
	}
	return text
}

// copyByName copies the fields that both messages have under the same name.
func copyByName(dst, src protoreflect.Message) {
	src.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to := dst.Descriptor().Fields().ByName(f.Name())
		switch {
		case to == nil:
		case f.IsMap():
			m := dst.Mutable(to).Map()
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				copyByName(m.Mutable(k).Message(), e.Message())
				return true
			})
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			l := dst.Mutable(to).List()
			for i := range v.List().Len() {
				copyByName(l.AppendMutable().Message(), v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind:
			copyByName(dst.Mutable(to).Message(), v.Message())
		default:
			dst.Set(to, v)
		}
		return true
	})
}
