package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

func (c *client) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, int, error) {
	f, err := c.function(ctx, name)
	if err != nil {
		return cty.NilVal, -1, err
	}
	req := &tfplugin6.CallFunction_Request{Name: name}
	for i, arg := range args {
		p := f.Variadic
		if i < len(f.Parameters) {
			p = &f.Parameters[i]
		}
		switch {
		case p == nil:
			return cty.NilVal, i, fmt.Errorf("function %q takes %d arguments, not %d", name, len(f.Parameters), len(args))
		case !p.AllowUnknown && !arg.IsWhollyKnown():
			// The rule is about what is inside of the argument, too.
			return cty.UnknownVal(f.Return), -1, nil
		case !p.AllowNull && arg.IsNull():
			return cty.NilVal, i, fmt.Errorf("argument %q must not be null", p.Name)
		}
		d, err := encode(arg, p.Type)
		if err != nil {
			return cty.NilVal, i, errors.New(describe(err))
		}
		req.Arguments = append(req.Arguments, d)
	}
	if len(args) < len(f.Parameters) {
		return cty.NilVal, -1, fmt.Errorf("function %q takes %d arguments, not %d", name, len(f.Parameters), len(args))
	}
	resp, err := c.rpc.CallFunction(ctx, req)
	if err != nil {
		return cty.NilVal, -1, errors.New(strings.TrimSpace(c.callFailed("CallFunction", err)[0].Detail))
	}
	if e := resp.Error; e != nil {
		argument := -1
		if e.FunctionArgument != nil {
			argument = int(*e.FunctionArgument)
		}
		return cty.NilVal, argument, errors.New(e.Text)
	}
	if resp.Result == nil {
		return cty.NilVal, -1, fmt.Errorf("provider %s answered with neither a result nor an error", c.name)
	}
	result, err := decode(resp.Result, f.Return)
	if err != nil {
		return cty.NilVal, -1, fmt.Errorf("the result of provider %s doesn't fit the type that it declares: %s", c.name, describe(err))
	}
	return result, -1, nil
}

// function finds the signature of a function. A configured provider may have
// more functions than its schemas tell.
func (c *client) function(ctx context.Context, name string) (*provider.Function, error) {
	if f := c.schemas.Functions[name]; f != nil {
		return f, nil
	}
	c.functionsOnce.Do(func() {
		resp, err := c.rpc.GetFunctions(ctx, &tfplugin6.GetFunctions_Request{})
		if err != nil {
			c.functionsErr = c.callFailed("GetFunctions", err).Err()
			return
		}
		if c.functionsErr = diagnostics(resp.Diagnostics).Err(); c.functionsErr == nil {
			t := &translation{types: make(map[string]cty.Type)}
			c.functions = t.functions(resp.Functions)
			if len(t.errors) > 0 {
				c.functionsErr = errors.New("the provider declares " + t.errors[0])
			}
		}
	})
	if f := c.functions[name]; f != nil {
		return f, nil
	}
	if c.functionsErr != nil {
		return nil, fmt.Errorf("provider %s has no function %q (%w)", c.name, name, c.functionsErr)
	}
	return nil, fmt.Errorf("provider %s has no function %q", c.name, name)
}
