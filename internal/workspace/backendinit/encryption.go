package backendinit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/static"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/kms"
)

// EncryptionVariable has an encryption block's content that is laid over what
// the configuration says.
const EncryptionVariable = "TF_ENCRYPTION"

// A sealing is what a command has found out about encryption.
type sealing struct {
	turn  sync.Mutex // held by the one who finds out
	mu    sync.Mutex
	known bool
	all   *encryption.Encryption
	diags diag.List
}

// Encrypt makes the configured encryption that of the command.
func (d *Reader) Encrypt(prog *program.Program, inputs map[string]module.VariableInput) diag.List {
	all, diags := d.encryptionOf(prog, inputs)
	for i := range diags {
		diags[i].Private = diags[i].Severity == diag.Error
	}
	d.sealing.mu.Lock()
	defer d.sealing.mu.Unlock()
	d.sealing.known, d.sealing.all, d.sealing.diags = true, all, diags.Only(diag.Error)
	return d.Place.Aside(diags)
}

// Encryption is that of the command, which is the configured one unless said
// otherwise. Data sources ask for it at the same time.
func (d *Reader) Encryption() (*encryption.Encryption, diag.List) {
	d.sealing.turn.Lock()
	defer d.sealing.turn.Unlock()
	d.sealing.mu.Lock()
	known := d.sealing.known
	d.sealing.mu.Unlock()
	var diags diag.List
	if !known {
		inputs, more := d.Place.Inputs(d.Place.SettingsVars)
		diags.Append(more)
		prog, more := d.RootSettings()
		diags.Append(more.Only(diag.Error))
		if diags.HasErrors() {
			return nil, diags
		}
		diags.Append(d.Encrypt(prog, inputs))
	}
	d.sealing.mu.Lock()
	defer d.sealing.mu.Unlock()
	if known {
		diags.Append(d.sealing.diags)
	}
	return d.sealing.all, diags
}

// SealsOf is Encryption for a saved plan. One of a stack doesn't say that it is before it
// is decrypted, so where only the stack in the directory has encryption it is that.
func (d *Reader) SealsOf(plan []byte) (*encryption.Encryption, diag.List) {
	names, err := d.Place.Files().List(".")
	if err == nil && !d.stack && encryption.Recognize(plan) == encryption.SealedPlan && slices.ContainsFunc(names, module.IsStackSettings) {
		if prog, diags := d.RootSettings(); diags.HasErrors() || prog.Encryption == nil {
			d.OfStack()
		}
	}
	return d.Encryption()
}

// encryptionOf reads the configuration of encryption.
func (d *Reader) encryptionOf(prog *program.Program, inputs map[string]module.VariableInput) (*encryption.Encryption, diag.List) {
	var config *encryption.Config
	var diags diag.List
	if b := prog.Encryption; b != nil {
		config, diags = encryption.Decode(b.Body, b.Range)
	}
	if text := strings.TrimSpace(d.Place.Environ[EncryptionVariable]); text != "" {
		over, more := encryptionIn(prog, text)
		diags.Append(more)
		config = encryption.Merge(config, over)
	}
	if config == nil || diags.HasErrors() {
		return nil, diags
	}
	frame, more := d.settingsFrame(prog, inputs)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	all, more := encryption.New(config, func(expr hcl.Expression, vars map[string]cty.Value) (cty.Value, diag.List) {
		return evaluateSecret(frame, expr, vars)
	}, runForKeys, kms.All(d.Place.StorageEnv()))
	return all, append(diags, more...)
}

// encryptionIn reads the variable of the environment, in either syntax. Its
// text isn't among the sources that messages quote from.
func encryptionIn(prog *program.Program, text string) (*encryption.Config, diag.List) {
	name := EncryptionVariable
	if strings.HasPrefix(text, "{") {
		name += ".json"
	}
	file, diags := syntax.Parse(name, []byte(text))
	if diags.HasErrors() {
		return nil, diags
	}
	at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	body, more := compiler.Encryption(prog, file.Body, at)
	diags.Append(more)
	config, more := encryption.Decode(body.Body, at)
	return config, append(diags, more...)
}

// evaluateSecret evaluates an expression of a setting. No message has a value of
// it, sensitive or not.
func evaluateSecret(frame *eval.Frame, expr hcl.Expression, vars map[string]cty.Value) (cty.Value, diag.List) {
	var v cty.Value
	var diags diag.List
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		ctx := frame.Context(t, nil, cty.NilVal).NewChild()
		ctx.Variables = vars
		var problems hcl.Diagnostics
		v, problems = expr.Value(ctx)
		diags = eval.Diagnostics(problems)
		v, _ = v.UnmarkDeep()
		if diags.HasErrors() || v.IsWhollyKnown() {
			return
		}
		if diags = frame.Diagnostics().Only(diag.Error); len(diags) == 0 {
			diags.Add(static.Problem(static.Explain(t, frame, nil, nil, program.References(expr)), expr.Range(), "setting"))
		}
	})
	for i := range diags {
		diags[i].Values = nil
	}
	return v, diags
}

// runForKeys runs a command that knows keys or encrypts. It isn't ended with
// the run of the command that needs it: the state is yet to be saved.
func runForKeys(command []string, input []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdin = bytes.NewReader(input)
	c.WaitDelay = time.Second // an agent that it has started may hold the output open
	output, err := c.Output()
	var failed *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		return output, nil
	case ctx.Err() != nil:
		return nil, errors.New("it took longer than a minute")
	case errors.As(err, &failed):
		return nil, fmt.Errorf("%w\n\n%s", err, bytes.TrimSpace(failed.Stderr))
	}
	return output, err
}

// DecryptRemote opens a state that the data source at an address has read.
func (d *Reader) DecryptRemote(at addr.Instance, stored []byte) ([]byte, error) {
	all, diags := d.Encryption()
	if err := diags.Err(); err != nil {
		return nil, err
	}
	var name strings.Builder
	for i, step := range at.Module.Steps() {
		if i > 0 {
			name.WriteString("module.")
		}
		name.WriteString(step.Name + step.Key.String() + ".")
	}
	name.WriteString(at.Name.Name + at.Key.String())
	state, _, err := all.RemoteState(name.String()).Open(stored)
	return state, err
}

// OpenSealed decrypts a state in a file that the user names. One in clear is taken as it is:
// the caller that names it knows where it is from.
func (d *Reader) OpenSealed(data []byte) ([]byte, diag.List) {
	if encryption.Recognize(data) != encryption.SealedState {
		return data, nil
	}
	all, diags := d.Encryption()
	if diags.HasErrors() {
		return nil, diags
	}
	state, _, err := all.State().Open(data)
	if err != nil {
		diags.Add(encryption.Bad.As("Failed to decrypt the state").New(diag.Error, "%s.", err))
	}
	return state, diags
}
