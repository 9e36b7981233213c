// driver TARGET MODE: the steps of the interop matrix over the Go SDK's client; see python/driver.py.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type target struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	SSE     string            `json:"sse"`
	Prefix  string            `json:"prefix"`
	URI     string            `json:"uri"`
}

func (to target) transport() mcp.Transport {
	switch {
	case to.URL != "":
		return &mcp.StreamableClientTransport{Endpoint: to.URL}
	case to.SSE != "":
		return &mcp.SSEClientTransport{Endpoint: to.SSE}
	}
	command := exec.Command(to.Command[0], to.Command[1:]...)
	command.Env = os.Environ()
	for name, value := range to.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	return &mcp.CommandTransport{Command: command}
}

// say prints a step with its keys sorted, as every driver does.
func say(step string, key string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		panic(err)
	}
	line, _ := json.Marshal(map[string]any{"step": step, key: plain})
	fmt.Println(string(line))
}

func take[T any](step string, result T, err error) {
	var known *jsonrpc.Error
	switch {
	case err == nil:
		say(step, "result", result)
	case errors.As(err, &known):
		say(step, "error", map[string]any{"code": known.Code, "message": known.Message})
	default:
		say(step, "error", map[string]any{"code": nil, "message": err.Error()})
	}
}

func main() {
	to := target{URI: "test://note"}
	if err := json.Unmarshal([]byte(os.Args[1]), &to); err != nil {
		panic(err)
	}
	version := "2026-07-28"
	if os.Args[2] == "legacy" {
		version = "2025-11-25"
	}
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, to.transport(), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		fmt.Fprintln(os.Stderr, "connect:", err)
		os.Exit(3)
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		fmt.Fprintln(os.Stderr, "connect: asked for", version, "and got", got)
		os.Exit(3)
	}

	call := func(step, name string, arguments any) {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: to.Prefix + name, Arguments: arguments})
		take(step, result, err)
	}
	prompt := func(step, name string, arguments map[string]string) {
		result, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: to.Prefix + name, Arguments: arguments})
		take(step, result, err)
	}
	tools, err := session.ListTools(ctx, nil)
	take("tools/list", tools, err)
	call("call", "echo", map[string]any{"text": "grüße \U0001f600"})
	call("call that fails", "fail", map[string]any{})
	call("call with wrong arguments", "echo", map[string]any{"text": map[string]any{"no": "text"}})
	call("call of no tool", "none", map[string]any{})
	resources, err := session.ListResources(ctx, nil)
	take("resources/list", resources, err)
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: to.URI})
	take("read", contents, err)
	prompts, err := session.ListPrompts(ctx, nil)
	take("prompts/list", prompts, err)
	prompt("prompt", "greet", map[string]string{"name": "Ada"})
	prompt("prompt that is none", "none", nil)
	call("call after that", "echo", map[string]any{"text": "still here"})
	_ = session.Close()
}
