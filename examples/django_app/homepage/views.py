"""Three views, and where they are."""

import json
import os

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

import cobandit

from .fleet import member


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Choose a variant. It takes microseconds and does no I/O."""
    decision = member().select_arm()
    return JsonResponse({"variant": decision.arm, "decision": decision.id})


@csrf_exempt  # a decision's id is signed, and counts once
@require_POST
def reward(request: HttpRequest) -> HttpResponse:
    """Take the reward of a decision that any worker made, and answer when it is on the disk."""
    try:
        member().update(request.POST["decision"], float(request.POST["reward"]))
    except (cobandit.LocalError, KeyError, ValueError) as error:
        return HttpResponse(f"{error}\n", status=400)
    try:
        member().sync()
    except cobandit.LocalError as error:
        return HttpResponse(f"{error}\n", status=503)
    return HttpResponse(status=204)


@require_GET
def status(request: HttpRequest) -> HttpResponse:
    """Return what the worker that answers knows."""
    return JsonResponse({"pid": os.getpid(), **json.loads(member().statistics().to_json())})


urlpatterns = [path("", page), path("reward", reward), path("status", status)]
