package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/program"
)

// limitEvaluation takes what evaluation may cost from the environment.
func limitEvaluation() error {
	mebibytes, err := limit("WEIR_MAX_VALUE", value.MaxSize>>20)
	if err != nil {
		return err
	}
	rounds, err := limit("WEIR_MAX_ROUNDS", program.MaxSteps)
	if err != nil {
		return err
	}
	total, err := limit("WEIR_MAX_TOTAL", int(value.MaxTotal>>20))
	if err != nil {
		return err
	}
	if program.MaxModules, err = limit("WEIR_MAX_MODULES", program.MaxModules); err != nil {
		return err
	}
	if text := os.Getenv("WEIR_MAX_TIME"); text != "" {
		if program.MaxTime, err = time.ParseDuration(text); err != nil || program.MaxTime < 0 {
			return fmt.Errorf("WEIR_MAX_TIME is %q. It has to be a duration such as 90s or 2h; 0 is no limit", text)
		}
	}
	value.MaxTotal = int64(total) << 20
	value.MaxSize, fsfuncs.MaxContent, program.MaxSteps = mebibytes<<20, mebibytes<<20, rounds
	return nil
}

// limit is the number that a variable has, or else the usual one.
func limit(variable string, usual int) (int, error) {
	text := os.Getenv(variable)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<32 {
		return 0, fmt.Errorf("%s is %q, which isn't a number from 1 on", variable, text)
	}
	return n, nil
}
