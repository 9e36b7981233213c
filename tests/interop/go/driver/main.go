// driver TARGET MODE: the steps of the interop matrix over the Go SDK's client; see python/driver.py.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

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
	URIs    string            `json:"uris"`
	Steps   string            `json:"steps"`
}

const logLines = 3 // of the suite's logging tool

// events collects what came before an answer.
type events struct {
	lock sync.Mutex
	list []any
}

func (e *events) add(event any) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.list = append(e.list, event)
}

// take waits until so many have come: the SDK may deliver a notification after the answer that it came before.
func (e *events) take(count int) []any {
	for i := 0; ; i++ {
		e.lock.Lock()
		if len(e.list) >= count || i == 1000 {
			list := e.list
			e.list = nil
			e.lock.Unlock()
			return list
		}
		e.lock.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

var seen events

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
func say(step string, key string, value any, seen []any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		panic(err)
	}
	said := map[string]any{"step": step, key: plain}
	if len(seen) > 0 {
		said["seen"] = seen
	}
	line, _ := json.Marshal(said)
	fmt.Println(string(line))
}

func take[T any](step string, result T, err error) { takeWith(step, result, err, 0) }

func takeWith[T any](step string, result T, err error, events int) {
	seen := seen.take(events)
	var known *jsonrpc.Error
	switch {
	case err == nil:
		say(step, "result", result, seen)
	case errors.As(err, &known):
		say(step, "error", map[string]any{"code": known.Code, "message": known.Message}, seen)
	default:
		say(step, "error", map[string]any{"code": nil, "message": err.Error()}, seen)
	}
}

func handlers() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, request *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			seen.add(map[string]any{"sampling": request.Params.Messages[0].Content.(*mcp.TextContent).Text})
			return &mcp.CreateMessageResult{Role: "assistant", Content: &mcp.TextContent{Text: "sampled"}, Model: "none"}, nil
		},
		ElicitationHandler: func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			seen.add(map[string]any{"elicitation": request.Params.Message})
			if request.Params.Message == "decline" {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			text, err := json.Marshal(request.Params.RequestedSchema)
			if err != nil {
				return nil, err
			}
			var schema struct {
				Properties map[string]any `json:"properties"`
			}
			if err := json.Unmarshal(text, &schema); err != nil {
				return nil, err
			}
			content := map[string]any{}
			for name := range schema.Properties {
				content[name] = "yes"
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		LoggingMessageHandler: func(_ context.Context, request *mcp.LoggingMessageRequest) {
			seen.add(map[string]any{"level": request.Params.Level, "data": request.Params.Data})
		},
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			seen.add(map[string]any{"progress": request.Params.Progress, "total": request.Params.Total, "message": request.Params.Message})
		},
	}
}

func exchange(ctx context.Context, to target, session *mcp.ClientSession, legacy bool) {
	call := func(step, name string, arguments any, meta mcp.Meta, events int) {
		params := &mcp.CallToolParams{Meta: meta, Name: to.Prefix + name, Arguments: arguments}
		result, err := session.CallTool(ctx, params)
		takeWith(step, result, err, events)
	}
	none := map[string]any{}
	call("progress", "test_tool_with_progress", none, mcp.Meta{"progressToken": 7}, 3)
	level := mcp.Meta{}
	if legacy {
		if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			fmt.Fprintln(os.Stderr, "set level:", err)
			os.Exit(3)
		}
	} else {
		level[mcp.MetaKeyLogLevel] = "debug"
	}
	call("log", "test_tool_with_logging", none, level, logLines)
	call("sampling", "test_sampling", map[string]any{"prompt": "say it"}, nil, 0)
	call("question", "test_elicitation", map[string]any{"message": "accept"}, nil, 0)
	call("question that is declined", "test_elicitation", map[string]any{"message": "decline"}, nil, 0)
	call("input required", "test_input_required_result_elicitation", none, nil, 0)
	call("call that fails", "test_error_handling", none, nil, 0)
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: to.URIs + "test://nothing"})
	take("read of nothing", contents, err)
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: to.Prefix + "test_prompt_with_embedded_resource", Arguments: map[string]string{"resourceUri": "test://example"}})
	take("prompt with a resource", prompt, err)
	call("call after that", "test_simple_text", none, nil, 0)
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
	var options *mcp.ClientOptions
	if to.Steps == "exchange" {
		options = handlers()
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1.0.0"}, options)
	session, err := client.Connect(ctx, to.transport(), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		fmt.Fprintln(os.Stderr, "connect:", err)
		os.Exit(3)
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		fmt.Fprintln(os.Stderr, "connect: asked for", version, "and got", got)
		os.Exit(3)
	}

	if to.Steps == "exchange" {
		exchange(ctx, to, session, os.Args[2] == "legacy")
		_ = session.Close()
		return
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
