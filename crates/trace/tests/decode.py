"""Decodes a trace with Perfetto's own descriptors and prints what is in it as JSON.

usage: decode.py FILE.pftrace

The package `perfetto` has the descriptors. Fails on anything that the descriptors do not know, on a number that refers
to nothing, on times that go backwards, and on slices that do not nest.
"""

import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto


def no_unknown_fields(message, path):
    unknown = [field.field_number for field in UnknownFieldSet(message)]
    assert not unknown, f"{path} has unknown fields {unknown}"
    for field, value in message.ListFields():
        if field.message_type is None:
            if field.enum_type is not None:
                values = value if field.is_repeated else [value]
                known = field.enum_type.values_by_number
                assert all(one in known for one in values), f"{path}.{field.name} is {value}"
            continue
        for one in value if field.is_repeated else [value]:
            no_unknown_fields(one, f"{path}.{field.name}")


def enum_name(message, field, value):
    return message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number[value].name


def annotations(event):
    return {one.name: getattr(one, one.WhichOneof("value")) for one in event.debug_annotations}


def dim(extent):
    return [extent.x, extent.y, extent.z]


def main(path):
    trace = perfetto.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    no_unknown_fields(trace, "trace")
    tracks, stages, contexts, specs, gpus = {}, {}, {}, {}, []
    slices, commands, instants, samples, open_slices = [], [], [], [], {}
    events, last, sequence = set(), 0, None
    for index, packet in enumerate(trace.packet):
        assert packet.timestamp >= last, f"packet {index} is at {packet.timestamp}, after {last}"
        last = packet.timestamp
        assert sequence in (None, packet.trusted_packet_sequence_id), "several sequences"
        sequence = packet.trusted_packet_sequence_id
        assert packet.sequence_flags == (1 if index == 0 else 2), f"flags of packet {index}"
        assert packet.first_packet_on_sequence == (index == 0)
        for one in packet.interned_data.gpu_specifications:
            assert one.iid and one.iid not in stages
            stages[one.iid] = one
        for one in packet.interned_data.graphics_contexts:
            assert one.iid and one.iid not in contexts
            contexts[one.iid] = one
        gpus.extend(one.name for one in packet.gpu_info.gpus)
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid and track.uuid not in tracks
            assert not track.HasField("parent_uuid") or track.parent_uuid in tracks
            tracks[track.uuid] = track
        if packet.HasField("track_event"):
            event = packet.track_event
            track = tracks[event.track_uuid]
            stack = open_slices.setdefault(event.track_uuid, [])
            if event.type == perfetto.TrackEvent.TYPE_SLICE_BEGIN:
                parent = tracks[track.parent_uuid].process.process_name
                one = {"process": parent, "track": track.name, "name": event.name, "category": event.categories[0]}
                one |= {"start": packet.timestamp, "depth": len(stack), "arguments": annotations(event)}
                stack.append(one)
                slices.append(one)
            elif event.type == perfetto.TrackEvent.TYPE_SLICE_END:
                one = stack.pop()
                one["duration"] = packet.timestamp - one["start"]
            else:
                assert event.type == perfetto.TrackEvent.TYPE_INSTANT
                instants.append({"name": event.name, "arguments": annotations(event)})
        if packet.HasField("gpu_render_stage_event"):
            event = packet.gpu_render_stage_event
            assert event.event_id not in events
            events.add(event.event_id)
            stage, context = stages[event.stage_iid], contexts[event.context]
            assert enum_name(context, "api", context.api) == "OPEN_CL"
            commands.append({
                "gpu": gpus[event.gpu_id], "pid": context.pid, "queue": stages[event.hw_queue_iid].name,
                "stage": stage.name, "category": enum_name(stage, "category", stage.category), "name": event.name,
                "start": packet.timestamp, "duration": event.duration,
                "groups": dim(event.launch.grid_size) if event.launch.HasField("grid_size") else None,
                "local": dim(event.launch.workgroup_size) if event.launch.HasField("workgroup_size") else None,
                "launch": {one.name: one.uint_value for one in event.launch.args},
                "extra": {one.name: one.value for one in event.extra_data},
            })
        if packet.HasField("gpu_counter_event"):
            event = packet.gpu_counter_event
            for one in event.counter_descriptor.specs:
                assert one.counter_id not in specs
                specs[one.counter_id] = {
                    "gpu": gpus[event.gpu_id], "name": one.name, "description": one.description,
                    "numerator": [enum_name(one, "numerator_units", unit) for unit in one.numerator_units],
                    "denominator": [enum_name(one, "denominator_units", unit) for unit in one.denominator_units],
                    "groups": [enum_name(one, "groups", group) for group in one.groups],
                    "direction": enum_name(one, "value_direction", one.value_direction), "values": [],
                }
            for one in event.counters:
                specs[one.counter_id]["values"].append([packet.timestamp, one.double_value])
    assert not any(open_slices.values()), "slices without an end"
    processes = [track.process for track in tracks.values() if track.HasField("process")]
    json.dump(
        {
            "processes": [
                {"pid": one.pid, "name": one.process_name, "labels": list(one.process_labels)} for one in processes
            ],
            "tracks": [track.name for track in tracks.values() if track.parent_uuid],
            "slices": slices,
            "commands": commands,
            "instants": instants,
            "counters": list(specs.values()),
        },
        sys.stdout,
    )


main(sys.argv[1])
