package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/analyze"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/encryption"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/planfile"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
	"weir.dev/weir/internal/static"
	"weir.dev/weir/internal/syntax"
)

// encryptionVariable has an encryption block's content that is laid over what
// the configuration says.
const encryptionVariable = "TF_ENCRYPTION"

// A sealing is what a command has found out about encryption.
type sealing struct {
	turn  sync.Mutex // held by the one who finds out
	mu    sync.Mutex
	known bool
	all   *encryption.Encryption
	diags diag.List
}

// encrypt makes the configured encryption that of the command.
func (e *env) encrypt(prog *program.Program, inputs map[string]engine.VariableInput) diag.List {
	all, diags := e.encryptionOf(prog, inputs)
	for i := range diags {
		diags[i].Private = diags[i].Severity == diag.Error
	}
	e.sealing.mu.Lock()
	defer e.sealing.mu.Unlock()
	e.sealing.known, e.sealing.all, e.sealing.diags = true, all, only(diags, diag.Error)
	return e.aside(diags)
}

// encryption is that of the command, which is the configured one unless said
// otherwise. Data sources ask for it at the same time.
func (e *env) encryption() (*encryption.Encryption, diag.List) {
	e.sealing.turn.Lock()
	defer e.sealing.turn.Unlock()
	e.sealing.mu.Lock()
	known := e.sealing.known
	e.sealing.mu.Unlock()
	var diags diag.List
	if !known {
		inputs, more := e.inputs(e.settingsVars)
		diags.Append(more)
		prog, more := e.rootSettings()
		diags.Append(only(more, diag.Error))
		if diags.HasErrors() {
			return nil, diags
		}
		diags.Append(e.encrypt(prog, inputs))
	}
	e.sealing.mu.Lock()
	defer e.sealing.mu.Unlock()
	if known {
		diags.Append(e.sealing.diags)
	}
	return e.sealing.all, diags
}

// encryptionOf reads the configuration of encryption.
func (e *env) encryptionOf(prog *program.Program, inputs map[string]engine.VariableInput) (*encryption.Encryption, diag.List) {
	var config *encryption.Config
	var diags diag.List
	if b := prog.Encryption; b != nil {
		config, diags = encryption.Decode(b.Body, b.Range)
	}
	if text := strings.TrimSpace(e.vars[encryptionVariable]); text != "" {
		over, more := encryptionIn(prog, text)
		diags.Append(more)
		config = encryption.Merge(config, over)
	}
	if config == nil || diags.HasErrors() {
		return nil, diags
	}
	frame, more := e.settingsFrame(prog, inputs)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	all, more := encryption.New(config, func(expr hcl.Expression, vars map[string]cty.Value) (cty.Value, diag.List) {
		return evaluateSecret(frame, expr, vars)
	}, runForKeys)
	return all, append(diags, more...)
}

// encryptionIn reads the variable of the environment, in either syntax. Its
// text isn't among the sources that messages quote from.
func encryptionIn(prog *program.Program, text string) (*encryption.Config, diag.List) {
	name := encryptionVariable
	if strings.HasPrefix(text, "{") {
		name += ".json"
	}
	file, diags := syntax.Parse(name, []byte(text))
	if diags.HasErrors() {
		return nil, diags
	}
	at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	body, more := analyze.Encryption(prog, file.Body, at)
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
		if diags = only(frame.Diagnostics(), diag.Error); len(diags) == 0 {
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

// decryptRemote opens a state that the data source at an address has read.
func (e *env) decryptRemote(at addr.Instance, stored []byte) ([]byte, error) {
	all, diags := e.encryption()
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

// readPlan reads a saved plan, which is told from other files that people try.
func (e *env) readPlan(path string) (planfile.Content, diag.List) {
	summary := fmt.Sprintf("Failed to load %q as a plan file", path)
	if isDir(path) {
		return planfile.Content{}, oneError(summary, "It is a directory. Use -chdir to work in another directory.")
	}
	all, diags := e.encryption()
	if diags.HasErrors() {
		return planfile.Content{}, diags
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return planfile.Content{}, oneError(summary, "Error: %s.", cause(err))
	}
	if !planfile.Is(data) && encryption.Recognize(data) != encryption.SealedPlan {
		return planfile.Content{}, oneError(summary, "The file isn't a saved plan. Save one with plan -out=PATH.")
	}
	content, more := planfile.Read(path, all.Plan().Open)
	return content, append(diags, more...)
}

// openState decrypts a state in a file that the user names. One in clear is
// taken as it is: whoever names it knows where it is from.
func (e *env) openState(data []byte) ([]byte, diag.List) {
	if encryption.Recognize(data) != encryption.SealedState {
		return data, nil
	}
	all, diags := e.encryption()
	if diags.HasErrors() {
		return nil, diags
	}
	state, _, err := all.State().Open(data)
	if err != nil {
		diags.Errorf("Failed to decrypt the state", "%s.", err)
	}
	return state, diags
}
