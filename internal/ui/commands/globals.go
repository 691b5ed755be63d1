package commands

import (
	"errors"
	"fmt"
	"strings"

	"weir.dev/weir/internal/core/dialect"
)

// Globals handles what stands before the command and returns the rest.
func Globals(args []string, chdir func(string) error, speak func(dialect.Dialect)) ([]string, error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, val, hasVal := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-"), "=")
		switch name {
		case "chdir":
			if !hasVal || val == "" {
				return nil, errors.New("Invalid -chdir option: must include an equals sign followed by a directory path, like -chdir=example")
			}
			if err := chdir(val); err != nil {
				return nil, fmt.Errorf("Error handling -chdir option: %s", err)
			}
			args = args[1:]
			continue
		case "compat":
			d, err := dialect.Parse(val)
			if err != nil {
				return nil, fmt.Errorf("-compat is %q; %s", val, err)
			}
			speak(d)
			args = args[1:]
			continue
		case "version", "v":
			return append([]string{"version"}, args[1:]...), nil
		}
		break
	}
	return args, nil
}

// Dialect is the dialect that a setting names, or else the program's own name. Chosen is
// false where neither does.
func Dialect(setting, program string) (d dialect.Dialect, chosen bool, err error) {
	if setting == "" {
		switch program {
		case dialect.Terraform.Command():
			return dialect.Terraform, true, nil
		case dialect.OpenTofu.Command():
			return dialect.OpenTofu, true, nil
		}
		return dialect.OpenTofu, false, nil
	}
	if d, err = dialect.Parse(setting); err != nil {
		err = fmt.Errorf("WEIR_COMPAT is %q; %w", setting, err)
	}
	return d, true, err
}
