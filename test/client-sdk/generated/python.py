"""Runs the client that openapi-python-client generates, and prints what it received as JSON."""

import hashlib
import json
import os
from pathlib import Path

from genrouter_client import AuthenticatedClient
from genrouter_client.api.files import delete_uploaded_file, download_first_file, upload_file
from genrouter_client.api.generations import (
    cancel_generation,
    delete_generation,
    list_generations,
    poll_generation,
    submit_generation,
)
from genrouter_client.models import (
    CancelledGeneration,
    Error,
    Generation,
    GenerationRequest,
    GenerationSucceededEvent,
    Input,
    InputBackground,
    InputOutputFormat,
    ListGenerationsMetadata,
    UploadFileFilesBody,
)
from genrouter_client.types import UNSET, File

client = AuthenticatedClient(base_url=os.environ["GENROUTER_URL"], token=os.environ["GENROUTER_API_KEY"])
LABEL = os.environ["LABEL"]


def submit(key, model, **fields):
    return submit_generation.sync(
        client=client,
        body=GenerationRequest(model=model, input_=Input(**fields), max_cost_usd=5.0, max_wait_s=3600),
        idempotency_key=f"{LABEL} {key}",
        genrouter_metadata=json.dumps({"run": LABEL}),
        genrouter_end_user="user-1207",
    )


def ended(generation):
    assert isinstance(generation, (Generation, CancelledGeneration)), generation
    while generation.completed_at is None:
        generation = poll_generation.sync(generation.id, client=client, prefer="wait=30")
    return generation


def shown(generation):
    content = download_first_file.sync(generation.id, client=client)
    return {
        "id": generation.id,
        "status": generation.status.value,
        "quoted_usd": generation.quoted_usd,
        "cost_usd": generation.cost_usd,
        "files": len(generation.output.urls),
        "duration_s": None if generation.output.duration_s is UNSET else generation.output.duration_s,
        "metadata": generation.metadata.to_dict(),
        "end_user": generation.end_user,
        "sha256": hashlib.sha256(content.payload.read()).hexdigest(),
    }


def code_of(answer):
    assert isinstance(answer, Error), answer
    return answer.error.code.value


picture = Path(os.environ["PICTURE"])
with picture.open("rb") as payload:
    file = upload_file.sync(
        client=client, body=UploadFileFilesBody(file=File(payload=payload, file_name=picture.name, mime_type="image/png"))
    )

CLIP = {"prompt": "a kite", "image_urls": [file.id], "resolution": "480p", "duration": 4, "audio": False}
clip = ended(submit("clip", "vidmodel-2.5", **CLIP))
again = submit("clip", "vidmodel-2.5", **CLIP)
conflict = submit("clip", "vidmodel-2.5", **{**CLIP, "duration": 5})
edit = ended(
    submit(
        "edit",
        "gpt-image-2",
        prompt="a tin kite",
        image_url=file.id,
        mask_url=file.id,
        output_format=InputOutputFormat.PNG,
        background=InputBackground.OPAQUE,
    )
)
SPEECH = {"prompt": "All credits are accounted for.", "voice": "Bella", "seed": 4294967295, "output_format": InputOutputFormat.OPUS}
speech = ended(submit("speech", "eleven-v4", **SPEECH))
refused = submit("refused", "eleven-v4", **{**SPEECH, "voice": "unknown"})
# The generator writes the members of an object without the name of the parameter.
page = list_generations.sync(client=client, limit=10, metadata=ListGenerationsMetadata.from_dict({"metadata[run]": LABEL}))
# Its provider cancels running jobs, too.
slow = submit("slow", "runway-gen-4.5", prompt="[sim:stuck] a kite", duration=5)
cancel_generation.sync(slow.id, client=client)
cancelled = ended(slow)
deleted = delete_generation.sync(edit.id, client=client)
removed = delete_uploaded_file.sync(file.id, client=client)
event = GenerationSucceededEvent.from_dict(json.loads(Path(os.environ["EVENT"]).read_text()))
assert isinstance(event.data, Generation)

print(
    json.dumps(
        {
            "file": {"id": file.id, "kind": file.kind.value, "bytes": file.bytes_, "width": file.width, "sha256": file.sha256},
            "clip": shown(clip),
            "again": again.id,
            "conflict": code_of(conflict),
            "speech": shown(speech),
            "edit": {"id": edit.id, "status": edit.status.value, "files": len(edit.output.urls)},
            "refused": code_of(refused),
            "listed": [each.id for each in page.data],
            "cancelled": {"id": cancelled.id, "status": cancelled.status.value, "code": cancelled.error.code.value},
            "deleted": deleted.deleted and removed.deleted,
            "event": {"type": event.type_, "id": event.data.id, "cost_usd": event.data.cost_usd},
        }
    )
)
