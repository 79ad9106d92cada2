package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: server PORT")
		os.Exit(2)
	}
	api := &API{db: NewDB(model())}
	if err := http.ListenAndServe("0.0.0.0:"+os.Args[1], api); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
