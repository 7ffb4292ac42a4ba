import torch, time
torch.backends.cuda.matmul.allow_tf32=False
print(torch.__version__, torch.version.cuda, torch.cuda.get_device_name())
def gpu(f, n):
    for _ in range(5): f()
    torch.cuda.synchronize()
    best=[]
    for _ in range(n):
        a=torch.cuda.Event(enable_timing=True); b=torch.cuda.Event(enable_timing=True)
        a.record(); f(); b.record(); torch.cuda.synchronize(); best.append(a.elapsed_time(b))
    best.sort(); return best[len(best)//2]*1e-3, best[0]*1e-3
for n in (64,128,256,512,1024,2048,4096,8192):
    A=torch.randn(n,n,device='cuda'); B=torch.randn(n,n,device='cuda'); C=torch.empty(n,n,device='cuda')
    m,b=gpu(lambda: torch.mm(A,B,out=C), 30)
    # wall time of a call and a wait
    for _ in range(20): torch.mm(A,B,out=C); torch.cuda.synchronize()
    w=[]
    for _ in range(200 if n<=512 else 10):
        t=time.perf_counter(); torch.mm(A,B,out=C); torch.cuda.synchronize(); w.append(time.perf_counter()-t)
    w.sort()
    t=time.perf_counter()
    r=1000 if n<=512 else 10
    for _ in range(r): torch.mm(A,B,out=C)
    torch.cuda.synchronize(); line=(time.perf_counter()-t)/r
    print(f"cublas {n}: events median {m*1e6:.1f} us best {b*1e6:.1f} us {2*n**3/m/1e12:.2f} TFLOP/s; call+wait {w[len(w)//2]*1e6:.1f} us; in a line {line*1e6:.2f} us")
x=torch.empty(7680*4320*3,dtype=torch.uint8,device='cuda'); y=torch.empty_like(x)
m,b=gpu(lambda: y.copy_(x), 50); print(f"copy {m*1e3:.4f} ms best {b*1e3:.4f} ms")
