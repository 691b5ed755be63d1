package evil

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// The state store of an honest provider is a folder beside its cloud.

func (h *honest) stateFile(id string) string { return filepath.Join(h.cloud+".states", id) }

func (*honest) ValidateStateStoreConfig(context.Context, *tfplugin6.ValidateStateStore_Request) (*tfplugin6.ValidateStateStore_Response, error) {
	return &tfplugin6.ValidateStateStore_Response{}, nil
}

func (h *honest) ConfigureStateStore(_ context.Context, r *tfplugin6.ConfigureStateStore_Request) (*tfplugin6.ConfigureStateStore_Response, error) {
	return &tfplugin6.ConfigureStateStore_Response{Capabilities: &tfplugin6.StateStoreServerCapabilities{ChunkSize: r.GetCapabilities().GetChunkSize()}},
		os.MkdirAll(h.cloud+".states", 0o755)
}

// readState has the messages of ReadStateBytes.
func (h *honest) readState(request []byte) ([]proto.Message, error) {
	var r tfplugin6.ReadStateBytes_Request
	if err := proto.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	state, err := os.ReadFile(h.stateFile(r.StateId))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	size := int64(len(state))
	return []proto.Message{&tfplugin6.ReadStateBytes_Response{Bytes: state, TotalLength: size, Range: &tfplugin6.StateRange{End: max(0, size-1)}}}, nil
}

// writeState keeps what the messages of WriteStateBytes have.
func (h *honest) writeState(requests [][]byte) ([]proto.Message, error) {
	var id string
	var state []byte
	for _, request := range requests {
		var r tfplugin6.WriteStateBytes_RequestChunk
		if err := proto.Unmarshal(request, &r); err != nil {
			return nil, err
		}
		if r.Meta != nil {
			id = r.Meta.StateId
		}
		state = append(state, r.Bytes...)
	}
	return []proto.Message{&tfplugin6.WriteStateBytes_Response{}}, os.WriteFile(h.stateFile(id), state, 0o600)
}

func (*honest) LockState(context.Context, *tfplugin6.LockState_Request) (*tfplugin6.LockState_Response, error) {
	return &tfplugin6.LockState_Response{LockId: "lock"}, nil
}

func (*honest) UnlockState(context.Context, *tfplugin6.UnlockState_Request) (*tfplugin6.UnlockState_Response, error) {
	return &tfplugin6.UnlockState_Response{}, nil
}

func (h *honest) GetStates(context.Context, *tfplugin6.GetStates_Request) (*tfplugin6.GetStates_Response, error) {
	r := &tfplugin6.GetStates_Response{}
	entries, err := os.ReadDir(h.cloud + ".states")
	for _, e := range entries {
		r.StateId = append(r.StateId, e.Name())
	}
	return r, err
}

func (h *honest) DeleteState(_ context.Context, r *tfplugin6.DeleteState_Request) (*tfplugin6.DeleteState_Response, error) {
	return &tfplugin6.DeleteState_Response{}, os.Remove(h.stateFile(r.StateId))
}
