// Runs the client that openapi-generator generates, and prints what it received as JSON.
import com.google.gson.GsonBuilder;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.FilesApi;
import org.openapitools.client.api.GenerationsApi;
import org.openapitools.client.model.CancelledGeneration;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.Generation;
import org.openapitools.client.model.GenerationRequest;
import org.openapitools.client.model.GenerationSucceededEvent;
import org.openapitools.client.model.Input;
import org.openapitools.client.model.UploadedFile;
import org.openapitools.client.model.WebhookEvent;

public final class Main {
  private static final String LABEL = System.getenv("LABEL");
  private static final ApiClient CLIENT = new ApiClient();
  private static final GenerationsApi GENERATIONS = new GenerationsApi(CLIENT);
  private static final FilesApi FILES = new FilesApi(CLIENT);

  private static Generation submit(String key, String model, Input input) throws ApiException {
    GenerationRequest request = new GenerationRequest().model(model).input(input).maxCostUsd(5.0).maxWaitS(3600);
    String metadata = "{\"run\":\"" + LABEL + "\"}";
    return GENERATIONS.submitGeneration(request, LABEL + " " + key, metadata, "user-1207", null, null, null);
  }

  private static String codeOf(String key, String model, Input input) throws Exception {
    try {
      throw new IllegalStateException("accepted: " + submit(key, model, input).getId());
    } catch (ApiException refusal) {
      return Error.fromJson(refusal.getResponseBody()).getError().getCode().getValue();
    }
  }

  private static Generation ended(String id) throws ApiException {
    for (;;) {
      Generation generation = GENERATIONS.pollGeneration(id, "wait=30", null);
      if (generation.getCompletedAt() != null) return generation;
    }
  }

  private static String sha256(File file) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file.toPath())));
  }

  private static Map<String, Object> object(Object... pairs) {
    Map<String, Object> members = new LinkedHashMap<>();
    for (int at = 0; at < pairs.length; at += 2) members.put((String) pairs[at], pairs[at + 1]);
    return members;
  }

  private static Map<String, Object> shown(Generation generation) throws Exception {
    return object(
        "id", generation.getId(),
        "status", generation.getStatus(),
        "quoted_usd", generation.getQuotedUsd(),
        "cost_usd", generation.getCostUsd(),
        "files", generation.getOutput().getUrls().size(),
        "duration_s", generation.getOutput().getDurationS(),
        "metadata", generation.getMetadata(),
        "end_user", generation.getEndUser(),
        "sha256", sha256(FILES.downloadFirstFile(generation.getId(), null, null, null)));
  }

  public static void main(String[] args) throws Exception {
    CLIENT.setBasePath(System.getenv("GENROUTER_URL"));
    CLIENT.setBearerToken(System.getenv("GENROUTER_API_KEY"));
    CLIENT.setReadTimeout(60_000);

    UploadedFile file = FILES.uploadFile(new File(System.getenv("PICTURE")), null);
    Input input =
        new Input().prompt("a kite").imageUrls(List.of(file.getId())).resolution("480p").duration(4).audio(false);
    Generation clip = ended(submit("clip", "vidmodel-2.5", input).getId());
    Generation again = submit("clip", "vidmodel-2.5", input);
    String conflict = codeOf("clip", "vidmodel-2.5", input.duration(5));
    Input painted = new Input().prompt("a tin kite").imageUrl(file.getId()).maskUrl(file.getId());
    painted.outputFormat(Input.OutputFormatEnum.PNG).background(Input.BackgroundEnum.OPAQUE);
    Generation edit = ended(submit("edit", "gpt-image-2", painted).getId());
    Input text = new Input().prompt("All credits are accounted for.").voice("Bella").seed(4294967295L);
    text.outputFormat(Input.OutputFormatEnum.OPUS);
    Generation speech = ended(submit("speech", "eleven-v4", text).getId());
    String refused = codeOf("refused", "eleven-v4", text.voice("unknown"));
    // The generator writes the members of an object without the name of the parameter.
    Map<String, String> metadata = Map.of("metadata[run]", LABEL);
    List<CancelledGeneration> page =
        GENERATIONS.listGenerations(10, null, null, null, null, null, metadata, null).getData();
    // Its provider cancels running jobs, too.
    Input endless = new Input().prompt("[sim:stuck] a kite").duration(5);
    Generation slow = submit("slow", "runway-gen-4.5", endless);
    GENERATIONS.cancelGeneration(slow.getId(), null);
    Generation cancelled = ended(slow.getId());
    boolean deleted = GENERATIONS.deleteGeneration(edit.getId(), null).getDeleted();
    boolean removed = FILES.deleteUploadedFile(file.getId(), null).getDeleted();
    WebhookEvent event = WebhookEvent.fromJson(Files.readString(Path.of(System.getenv("EVENT"))));
    GenerationSucceededEvent end = event.getGenerationSucceededEvent();

    Map<String, Object> report = object(
        "file", object(
            "id", file.getId(), "kind", file.getKind(), "bytes", file.getBytes(), "width", file.getWidth(),
            "sha256", file.getSha256()),
        "clip", shown(clip),
        "again", again.getId(),
        "conflict", conflict,
        "speech", shown(speech),
        "edit", object("id", edit.getId(), "status", edit.getStatus(), "files", edit.getOutput().getUrls().size()),
        "refused", refused,
        "listed", Arrays.asList(page.stream().map(CancelledGeneration::getId).toArray()),
        "cancelled", object(
            "id", cancelled.getId(), "status", cancelled.getStatus(), "code", cancelled.getError().getCode()),
        "deleted", deleted && removed,
        "event", object("type", end.getType(), "id", end.getData().getId(), "cost_usd", end.getData().getCostUsd()));
    System.out.println(new GsonBuilder().serializeNulls().create().toJson(report));
    // The threads of the HTTP client would keep the process alive.
    System.exit(0);
  }
}
