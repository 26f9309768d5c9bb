// Runs the client that oapi-codegen generates, and prints what it received as JSON.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"genrouter.test/api"
)

type object = map[string]any

var (
	ctx    = context.Background()
	label  = os.Getenv("LABEL")
	client *api.ClientWithResponses
)

func pointer[T any](value T) *T { return &value }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func submit(key string, model string, input api.Input) *api.SubmitGenerationResponse {
	params := api.SubmitGenerationParams{
		IdempotencyKey:    pointer(label + " " + key),
		GenrouterMetadata: pointer(fmt.Sprintf(`{"run":%q}`, label)),
		GenrouterEndUser:  pointer("user-1207"),
	}
	body := api.GenerationRequest{Model: model, Input: input, MaxCostUsd: pointer(5.0), MaxWaitS: pointer(3600)}
	return must(client.SubmitGenerationWithResponse(ctx, &params, body))
}

func ended(id string) *api.Generation {
	for {
		poll := must(client.PollGenerationWithResponse(ctx, id, &api.PollGenerationParams{Prefer: pointer("wait=30")}))
		if poll.JSON200 == nil {
			log.Fatalf("%s %s", poll.Status(), poll.Body)
		}
		if poll.JSON200.CompletedAt != nil {
			return poll.JSON200
		}
	}
}

func made(key string, model string, input api.Input) *api.Generation {
	answer := submit(key, model, input)
	if answer.JSON202 == nil {
		log.Fatalf("%s %s", answer.Status(), answer.Body)
	}
	return ended(answer.JSON202.Id)
}

func shown(generation *api.Generation) object {
	content := must(client.DownloadFirstFileWithResponse(ctx, generation.Id, nil))
	sum := sha256.Sum256(content.Body)
	return object{
		"id": generation.Id, "status": generation.Status, "quoted_usd": generation.QuotedUsd, "cost_usd": generation.CostUsd,
		"files": len(generation.Output.Urls), "duration_s": generation.Output.DurationS, "metadata": generation.Metadata,
		"end_user": generation.EndUser, "sha256": hex.EncodeToString(sum[:]),
	}
}

func main() {
	log.SetFlags(0)
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("GENROUTER_API_KEY"))
		return nil
	}
	client = must(api.NewClientWithResponses(os.Getenv("GENROUTER_URL"), api.WithRequestEditorFn(authorize)))

	picture := must(os.ReadFile(os.Getenv("PICTURE")))
	upload := must(client.UploadFileWithBodyWithResponse(ctx, nil, "application/octet-stream", bytes.NewReader(picture)))
	if upload.JSON201 == nil {
		log.Fatalf("%s %s", upload.Status(), upload.Body)
	}
	file := upload.JSON201

	input := api.Input{
		Prompt: pointer("a kite"), ImageUrls: &[]string{file.Id}, Resolution: pointer("480p"), Duration: pointer(4), Audio: pointer(false),
	}
	clip := made("clip", "vidmodel-2.5", input)
	again := submit("clip", "vidmodel-2.5", input)
	input.Duration = pointer(5)
	conflict := submit("clip", "vidmodel-2.5", input)
	edit := made("edit", "gpt-image-2", api.Input{
		Prompt: pointer("a tin kite"), ImageUrl: &file.Id, MaskUrl: &file.Id,
		OutputFormat: pointer(api.InputOutputFormat("png")), Background: pointer(api.InputBackground("opaque")),
	})
	text := api.Input{
		Prompt: pointer("All credits are accounted for."), Voice: pointer("Bella"), Seed: pointer(int64(4294967295)),
		OutputFormat: pointer(api.InputOutputFormat("opus")),
	}
	speech := made("speech", "eleven-v4", text)
	text.Voice = pointer("unknown")
	refused := submit("refused", "eleven-v4", text)
	query := api.ListGenerationsParams{Limit: pointer(10), Metadata: &map[string]string{"run": label}}
	page := must(client.ListGenerationsWithResponse(ctx, &query))
	if page.JSON200 == nil {
		log.Fatalf("%s %s", page.Status(), page.Body)
	}
	listed := []string{}
	for _, each := range page.JSON200.Data {
		listed = append(listed, each.Id)
	}
	// Its provider cancels running jobs, too.
	endless := api.Input{Prompt: pointer("[sim:stuck] a kite"), Duration: pointer(5)}
	slow := submit("slow", "runway-gen-4.5", endless)
	must(client.CancelGenerationWithResponse(ctx, slow.JSON202.Id, nil))
	cancelled := ended(slow.JSON202.Id)
	deleted := must(client.DeleteGenerationWithResponse(ctx, edit.Id, nil))
	removed := must(client.DeleteUploadedFileWithResponse(ctx, file.Id, nil))
	var event api.WebhookEvent
	if err := json.Unmarshal(must(os.ReadFile(os.Getenv("EVENT"))), &event); err != nil {
		log.Fatal(err)
	}
	end := must(event.ValueByDiscriminator()).(api.GenerationSucceededEvent)

	fmt.Println(string(must(json.Marshal(object{
		"file":      object{"id": file.Id, "kind": file.Kind, "bytes": file.Bytes, "width": file.Width, "sha256": file.Sha256},
		"clip":      shown(clip),
		"again":     again.JSON200.Id,
		"conflict":  conflict.JSON409.Error.Code,
		"speech":    shown(speech),
		"edit":      object{"id": edit.Id, "status": edit.Status, "files": len(edit.Output.Urls)},
		"refused":   refused.JSON422.Error.Code,
		"listed":    listed,
		"cancelled": object{"id": cancelled.Id, "status": cancelled.Status, "code": cancelled.Error.Code},
		"deleted":   deleted.JSON200.Deleted && removed.JSON200.Deleted,
		"event":     object{"type": end.Type, "id": end.Data.Id, "cost_usd": end.Data.CostUsd},
	}))))
}
