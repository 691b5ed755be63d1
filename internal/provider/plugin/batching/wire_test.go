package batching

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"weir.dev/weir/internal/provider/plugin/batchv1"
)

func marshal(t testing.TB, m proto.Message) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestWire holds what is written and read here to the contract.
func TestWire(t *testing.T) {
	var r batchv1.Requests
	if err := proto.Unmarshal(requests("a_thing", [][]byte{[]byte("one"), nil, []byte("three")}).data, &r); err != nil ||
		r.TypeName != "a_thing" || len(r.Requests) != 3 || string(r.Requests[2]) != "three" || len(r.Requests[1]) != 0 {
		t.Errorf("%v, %v", &r, err)
	}
	all, err := outcomes(marshal(t, &batchv1.Answers{Answers: []*batchv1.Answers_Answer{
		{Result: &batchv1.Answers_Answer_Response{Response: []byte("one")}}, {},
		{Result: &batchv1.Answers_Answer_Error{Error: "no cheese"}}, {Result: &batchv1.Answers_Answer_Response{}},
	}}))
	if err != nil || len(all) != 4 || string(all[0].response) != "one" || all[0].err != nil || all[1].err == nil || all[2].err == nil || all[3].err != nil {
		t.Errorf("%v, %v", all, err)
	}
	usual, types, err := described(marshal(t, &batchv1.Description{
		Limits: &batchv1.Description_Limits{Read: 7, Plan: -1, Apply: math.MaxInt64},
		Types:  map[string]*batchv1.Description_Limits{"a": {Read: 3}, "b": nil},
	}))
	if err != nil || usual != (limits{7, 0, math.MaxInt64}) || len(types) != 2 || types["a"] != (limits{read: 3}) || types["b"] != (limits{}) {
		t.Errorf("%v %v %v", usual, types, err)
	}
}

// FuzzWire: whatever a plugin sends, it is read as the contract has it or rejected.
func FuzzWire(f *testing.F) {
	f.Add(marshal(f, &batchv1.Answers{Answers: []*batchv1.Answers_Answer{{Result: &batchv1.Answers_Answer_Error{Error: "x"}}}}))
	f.Add(marshal(f, &batchv1.Description{Types: map[string]*batchv1.Description_Limits{"a": {Read: 3}}}))
	f.Add([]byte{0x0a, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		var a batchv1.Answers
		if all, err := outcomes(data); proto.Unmarshal(data, &a) == nil && (err != nil || len(all) != len(a.Answers)) {
			t.Errorf("%d answers rather than %d, %v", len(all), len(a.Answers), err)
		}
		_, _, _ = described(data)
	})
}
