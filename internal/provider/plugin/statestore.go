package plugin

import (
	"context"
	"errors"
	"io"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

var _ provider.StateStorer = (*client)(nil)

// Bytes of a state in a message: what weir asks for, and the most that a provider may choose.
const (
	usualChunk = 8 << 20
	mostChunk  = 128 << 20
)

// aboutStore begins a call about a state store.
func (c *client) aboutStore(call, typ string) *exchange {
	x := &exchange{c: c, call: call, schema: c.schemas.StateStores.Schema(typ)}
	if x.schema == nil {
		x.diags.Add(provider.Lacking.As("Unsupported state store type").New(diag.Error, "Provider %s has no state store type %q.", c.name, typ))
	}
	return x
}

func (c *client) ValidateStateStore(ctx context.Context, typ string, config cty.Value) diag.List {
	x := c.aboutStore("ValidateStateStoreConfig", typ)
	req := &tfplugin6.ValidateStateStore_Request{TypeName: typ, Config: x.encode(config)}
	if !x.failed() {
		r, err := c.rpc.ValidateStateStoreConfig(ctx, req)
		x.answered(err, r.GetDiagnostics())
	}
	return x.diags
}

func (c *client) ConfigureStateStore(ctx context.Context, typ string, config cty.Value) diag.List {
	x := c.aboutStore("ConfigureStateStore", typ)
	req := &tfplugin6.ConfigureStateStore_Request{
		TypeName: typ, Config: x.encode(config), Capabilities: &tfplugin6.StateStoreClientCapabilities{ChunkSize: usualChunk},
	}
	if x.failed() {
		return x.diags
	}
	r, err := c.rpc.ConfigureStateStore(ctx, req)
	if !x.answered(err, r.GetDiagnostics()) || x.failed() {
		return x.diags
	}
	chunk := r.GetCapabilities().GetChunkSize()
	if chunk <= 0 || chunk > mostChunk {
		x.diags.Add(BadAnswer.As("Invalid chunk size of the state store").New(diag.Error, "Provider %s wants %d bytes of a state in a message. It has to be between 1 and %d. "+
			"This is a bug in the provider, which should be reported in the provider's own issue tracker.", c.name, chunk, mostChunk))
		return x.diags
	}
	c.chunk.Store(chunk)
	c.stored.Store(req)
	return x.diags
}

func (c *client) ReadState(ctx context.Context, typ, name string) ([]byte, diag.List) {
	x := c.aboutStore("ReadStateBytes", typ)
	if x.failed() {
		return nil, x.diags
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	chunks, err := c.rpc.ReadStateBytes(ctx, &tfplugin6.ReadStateBytes_Request{TypeName: typ, StateId: name})
	if err != nil {
		return nil, c.callFailed(x.call, err)
	}
	var state []byte
	var total int64
	for {
		chunk, err := chunks.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, append(x.diags, c.callFailed(x.call, err)...)
		}
		x.diags.Append(diagnostics(chunk.Diagnostics))
		if x.failed() {
			return nil, x.diags
		}
		if chunk.TotalLength > 0 {
			total = chunk.TotalLength
		}
		if from := chunk.GetRange().GetStart(); len(chunk.Bytes) > 0 && from != int64(len(state)) {
			return nil, append(x.diags, c.badState("sent byte %d of %q where byte %d was due", from, name, len(state))...)
		}
		if state = append(state, chunk.Bytes...); int64(len(state)) > total {
			break
		}
	}
	if int64(len(state)) != total {
		return nil, append(x.diags, c.badState("announced %d bytes of the state %q and sent %d", total, name, len(state))...)
	}
	return state, x.diags
}

func (c *client) badState(format string, args ...any) diag.List {
	return BadAnswer.As("State could not be read").List("Provider %s "+format+". This is a bug in the provider, which should be reported in the provider's own issue tracker.", append([]any{c.name}, args...)...)
}

func (c *client) WriteState(ctx context.Context, typ, name string, state []byte) diag.List {
	x := c.aboutStore("WriteStateBytes", typ)
	if x.failed() {
		return x.diags
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	chunks, err := c.rpc.WriteStateBytes(ctx)
	if err != nil {
		return c.callFailed(x.call, err)
	}
	most := int(c.chunk.Load())
	for sent := 0; sent < len(state); {
		next := min(len(state), sent+most)
		chunk := &tfplugin6.WriteStateBytes_RequestChunk{
			Bytes: state[sent:next], TotalLength: int64(len(state)),
			Range: &tfplugin6.StateRange{Start: int64(sent), End: int64(next) - 1},
		}
		if sent == 0 {
			chunk.Meta = &tfplugin6.RequestChunkMeta{TypeName: typ, StateId: name}
		}
		if err := chunks.Send(chunk); err != nil {
			break // the answer has the reason
		}
		sent = next
	}
	r, err := chunks.CloseAndRecv()
	x.answered(err, r.GetDiagnostics())
	return x.diags
}

func (c *client) LockState(ctx context.Context, typ, name, operation string) (string, diag.List) {
	x := c.aboutStore("LockState", typ)
	if x.failed() {
		return "", x.diags
	}
	r, err := c.rpc.LockState(ctx, &tfplugin6.LockState_Request{TypeName: typ, StateId: name, Operation: operation})
	x.answered(err, r.GetDiagnostics())
	return r.GetLockId(), x.diags
}

func (c *client) UnlockState(ctx context.Context, typ, name, id string) diag.List {
	x := c.aboutStore("UnlockState", typ)
	if !x.failed() {
		r, err := c.rpc.UnlockState(ctx, &tfplugin6.UnlockState_Request{TypeName: typ, StateId: name, LockId: id})
		x.answered(err, r.GetDiagnostics())
	}
	return x.diags
}

func (c *client) States(ctx context.Context, typ string) ([]string, diag.List) {
	x := c.aboutStore("GetStates", typ)
	if x.failed() {
		return nil, x.diags
	}
	r, err := c.rpc.GetStates(ctx, &tfplugin6.GetStates_Request{TypeName: typ})
	x.answered(err, r.GetDiagnostics())
	return r.GetStateId(), x.diags
}

func (c *client) DeleteState(ctx context.Context, typ, name string) diag.List {
	x := c.aboutStore("DeleteState", typ)
	if !x.failed() {
		r, err := c.rpc.DeleteState(ctx, &tfplugin6.DeleteState_Request{TypeName: typ, StateId: name})
		x.answered(err, r.GetDiagnostics())
	}
	return x.diags
}
